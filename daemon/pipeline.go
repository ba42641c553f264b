package daemon

import (
	"slices"
	"time"

	"github.com/understudyd/understudy/personas"
)

// PipelineStatus is the status of a pipeline. docs/states.md is generated from the tables in this file.
type PipelineStatus string

// The statuses of a pipeline.
const (
	// PipelinePending: the pipeline waits for room on its host. This ends when fewer than max_running pipelines are at
	// work there and no older pipeline waits, or with an abort.
	PipelinePending PipelineStatus = "pending"
	// PipelineRunning: the daemon makes the work tree, or the first step that is neither done nor skipped is worked on.
	// This ends when a step needs an approval, when it is not clear which step comes next, when the step or the work tree fails, with an abort, or when no step is
	// left.
	PipelineRunning PipelineStatus = "running"
	// PipelineWaiting: a person must approve the next step, or choose it because the rules of the last one did not decide.
	// This ends with an approval, a rejection or an abort.
	PipelineWaiting PipelineStatus = "waiting_for_approval"
	// PipelineDone: no step is left. It stays so.
	PipelineDone PipelineStatus = "done"
	// PipelineFailed: a step or the work tree failed, or a person has aborted or rejected the pipeline. A resume ends
	// this.
	PipelineFailed PipelineStatus = "failed"
)

// StepStatus is the status of a step of a pipeline.
type StepStatus string

// The statuses of a step.
const (
	// StepPending: the step has not begun, or will begin again. This ends when the row of its agent is committed, or when
	// no agent can be started.
	StepPending StepStatus = "pending"
	// StepRunning: the row of its agent is committed. This ends when the agent's turn ends, when the agent ends, after
	// step_timeout, or with an abort.
	StepRunning StepStatus = "running"
	// StepDone: its output is recorded. It stays so.
	StepDone StepStatus = "done"
	// StepFailed: its agent ended or took too long, no agent could be started, or a person rejected the step or aborted
	// the pipeline during the step. A resume ends this.
	StepFailed StepStatus = "failed"
	// StepSkipped: a person resumed the pipeline without it, or a rule led past it. It stays so.
	StepSkipped StepStatus = "skipped"
)

// Pipeline is one run of a template. Its steps run one after the other, and each gets the output of the one before it.
// Each write of its row writes all fields, guarded by Seq, together with the steps that change.
type Pipeline struct {
	ID             int64          `json:"id"`
	Title          string         `json:"title"`
	Template       string         `json:"template"`
	Prompt         string         `json:"prompt"` // the request, as the person wrote it
	Branch         *string        `json:"branch"`
	Cwd            string         `json:"cwd"`      // where its agents work; with a branch: a folder of the repository from which the work tree is made
	Worktree       *string        `json:"worktree"` // its own git work tree; null: there is none, or it is not made yet
	Host           string         `json:"host"`
	Status         PipelineStatus `json:"status"`
	Error          *string        `json:"error"`            // one sentence
	ErrorCode      Code           `json:"error_code"`       // "": no error
	Hint           string         `json:"hint"`             // what to do next
	Note           string         `json:"note"`             // what the pipeline waits for, if its status alone does not say it
	Warnings       []string       `json:"warnings"`         // sentences
	CurrentAgentID *int64         `json:"current_agent_id"` // derived: the newest agent of the running step
	CreatedAt      time.Time      `json:"created_at"`
	UpdatedAt      time.Time      `json:"updated_at"`
	StartedAt      *time.Time     `json:"started_at"`
	FinishedAt     *time.Time     `json:"finished_at"`
	Steps          []Step         `json:"steps"` // by OrderIndex

	Seq int64 `json:"-"` // advances with each write, and guards it
	// ResumedAt is when the daemon resumed it by itself, because its agent had died before a start of the daemon; nil: it did not.
	ResumedAt *time.Time `json:"-"`
	WorkDir   string     `json:"-"` // where its agents are started; with a branch: inside the work tree, and "" until the work tree is made
}

// Step is one step of a pipeline, in one round. It holds copies from the template and the persona, so later edits of either do not
// change it. The template is copied when the pipeline is created. So is the persona; if no persona could play the step
// then, it is copied when the step is reached.
type Step struct {
	ID            int64        `json:"id"`
	AgentName     string       `json:"agent_name"`  // as the template names it: a persona's slug, or a role
	OrderIndex    int          `json:"order_index"` // its place in the pipeline; it grows for a step that has not begun when rows are put before it
	Persona       *string      `json:"persona"`     // slug; null: no persona could play the step at the last try
	Description   string       `json:"description"`
	Prompt        string       `json:"prompt"` // the template's prompt for the step
	Approval      bool         `json:"approval"`
	ApprovedAt    *time.Time   `json:"approved_at"`
	Comment       string       `json:"approval_comment"`
	Status        StepStatus   `json:"status"`
	Error         *string      `json:"error"`     // one sentence
	AgentIDs      []int64      `json:"agent_ids"` // derived: all agents that worked on it, the oldest first
	StartedAt     *time.Time   `json:"started_at"`
	FinishedAt    *time.Time   `json:"finished_at"`
	Input         string       `json:"input,omitempty"` // the prompt that its agent got; left out of lists
	Runtime       string       `json:"runtime"`         // as chosen for the step, else the persona's; "": no persona could play the step yet
	Model         string       `json:"model"`           // as chosen for the step, else the persona's; "": the runtime's default
	LatestHandoff *StepHandoff `json:"latest_handoff"`

	Number    int             `json:"number"`     // of the step in the template, from 1
	Round     int             `json:"round"`      // from 1: how often the work has come to this step of the template
	Next      []personas.Rule `json:"next"`       // the first that applies to the output says which step comes next
	MaxRounds int             `json:"max_rounds"` // with Next: from that round on a person must approve a further one
	CameFrom  *int64          `json:"came_from"`  // the step whose end led here; null: none, or not yet
	CameBy    string          `json:"came_by"`    // the rule that led here; "": the order of the steps
	Otherwise string          `json:"otherwise"`  // "stop": a person decides if no rule of Next applies; "": the following step comes
	Undecided Undecided       `json:"undecided"`  // why a person must choose the step that comes next; "": nobody must

	PipelineID  int64         `json:"-"`
	Skill       string        `json:"-"` // the persona's skill
	RemindAfter time.Duration `json:"-"` // the time between reminders of its approval; 0: no reminder
	Timeout     time.Duration `json:"-"` // 0: pipeline.step_timeout
	AskedAt     *time.Time    `json:"-"` // when a person was last asked for its approval, or reminded of it
}

// StepHandoff is the output of a step; the next step gets it. A step has at most one.
type StepHandoff struct {
	ID        int64     `json:"id"`
	ContentMD string    `json:"content_md"` // the agent's final message, unchanged
	Metadata  *Metadata `json:"metadata"`   // the fields of that message; null: it has none
	CreatedAt time.Time `json:"created_at"`

	Warnings         []string    `json:"warnings"`          // sentences: what could not be confirmed of it
	ContextChecksum  *string     `json:"context_checksum"`  // SHA-256 of the context that the next step gets; null: an older version recorded it
	ContextValidated bool        `json:"context_validated"` // it has all that the next step's role requires
	Metrics          StepMetrics `json:"metrics"`

	StepID  int64 `json:"-"`
	AgentID int64 `json:"-"`
}

// Metadata are the fields of a step's output. On the wire it has no nulls: a field that the message lacks is absent.
type Metadata struct {
	WhatWasDone      *string `json:"what_was_done,omitempty"`
	DecisionsMade    *string `json:"decisions_made,omitempty"`
	OpenQuestions    *string `json:"open_questions,omitempty"`
	NextAgentContext *string `json:"next_agent_context,omitempty"`
}

// Open reports whether the pipeline has not ended.
func (p *Pipeline) Open() bool { return p.Status != PipelineDone && p.Status != PipelineFailed }

// Front returns the index of the step that the pipeline works on or will begin next: the first step that is neither done
// nor skipped. If there is none it returns len(p.Steps).
func (p *Pipeline) Front() int {
	for i, s := range p.Steps {
		if s.Status != StepDone && s.Status != StepSkipped {
			return i
		}
	}
	return len(p.Steps)
}

// Allows reports whether a person may give a command in the pipeline's status.
func (p *Pipeline) Allows(command string) bool {
	return Target(WaysFrom(PipelineStages, p.Status), command) != ""
}

// FrontStep returns the step at [Pipeline.Front]; nil: there is none.
func (p *Pipeline) FrontStep() *Step {
	if i := p.Front(); i < len(p.Steps) {
		return &p.Steps[i]
	}
	return nil
}

// Before returns the last step before s that is done and has an output; nil: there is none.
func (p *Pipeline) Before(s *Step) *Step {
	for i := s.OrderIndex - 1; i >= 0; i-- {
		if p.Steps[i].Status == StepDone && p.Steps[i].LatestHandoff != nil {
			return &p.Steps[i]
		}
	}
	return nil
}

// Step returns a step by its id; nil: it is not one of this pipeline.
func (p *Pipeline) Step(id int64) *Step {
	for i := range p.Steps {
		if p.Steps[i].ID == id {
			return &p.Steps[i]
		}
	}
	return nil
}

// NewestAgent returns the id of the newest agent that worked on a step; 0: none has.
func (s *Step) NewestAgent() int64 {
	if len(s.AgentIDs) == 0 {
		return 0
	}
	return s.AgentIDs[len(s.AgentIDs)-1]
}

// TimeLimit returns how long the step may take.
func (s *Step) TimeLimit(set PipelineSettings) time.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	return set.StepTimeout
}

// Way is one way out of a state.
type Way[S ~string] struct {
	To S
	On string // the condition, or the command of a person; "": always
}

// The commands that people give to pipelines.
const (
	ByAbort   = "abort"
	ByApprove = "approve"
	ByReject  = "reject"
	ByResume  = "resume"
	bySkip    = "resume with skip"
)

// actor is who acts in a state: the daemon, or the agent or the person that the daemon waits for.
type actor string

const (
	theDaemon     actor = "daemon"
	outgoingAgent actor = "outgoing agent"
	theSuccessor  actor = "successor"
	aFork         actor = "fork"
	itsAgent      actor = "agent of the step"
	aPerson       actor = "person"
)

// Stage is one row of the tables of pipelines and of steps. docs/states.md is generated from these tables.
type Stage[S ~string] struct {
	At   S
	Who  actor
	Acts bool   // the state has an effect; false: in this state the daemon only waits
	Does string // the effect, or what the daemon waits for
	Next []Way[S]
}

// PipelineStages is the whole life of a pipeline. While it is running, its step at [Pipeline.FrontStep] goes through StepStages.
var PipelineStages = []Stage[PipelineStatus]{
	{PipelinePending, theDaemon, false, "fewer pipelines than max_running are at work on its host, and no older one waits",
		[]Way[PipelineStatus]{{To: PipelineRunning}, {PipelineFailed, ByAbort}}},
	{PipelineRunning, theDaemon, true, "make its work tree, then take each step through its statuses; it is done when no step is left",
		[]Way[PipelineStatus]{{PipelineWaiting, "the next step wants an approval, or the last one has left none that its rules could read"}, {PipelineDone, "no step is left"},
			{PipelineFailed, "the step or the work tree failed"}, {PipelineFailed, ByAbort}}},
	{PipelineWaiting, aPerson, false, "a person approves or rejects the next step, which is pending meanwhile, or chooses it; the pipeline does not count as being at work",
		[]Way[PipelineStatus]{{PipelineRunning, ByApprove}, {PipelinePending, ByApprove}, {PipelineFailed, ByReject}, {PipelineFailed, ByAbort}}},
	{PipelineFailed, aPerson, false, "a person resumes it",
		[]Way[PipelineStatus]{{PipelineRunning, ByResume}, {PipelinePending, ByResume}}},
}

// StepStages is the whole life of a step.
var StepStages = []Stage[StepStatus]{
	{StepPending, theDaemon, true, "the steps before it are over, it is approved and their agents are gone: its agent's row is committed, with the prompt",
		[]Way[StepStatus]{{To: StepRunning}, {StepFailed, "its agent can't be started"}, {StepFailed, ByReject}, {StepSkipped, bySkip},
			{StepSkipped, "a rule of a step before it leads past it"}}},
	{StepRunning, itsAgent, false, "its agent, or the agent's successor, ends its turn; the output, the audit and the end are one transaction, and the agent is shut down",
		[]Way[StepStatus]{{To: StepDone}, {StepFailed, "its agent ended, or took too long"}, {StepFailed, ByAbort}}},
	{StepFailed, aPerson, false, "a person resumes the pipeline, with the step or without it",
		[]Way[StepStatus]{{StepPending, ByResume}, {StepSkipped, bySkip}}},
}

// WaysFrom returns the ways out of a state; nil: the table has no row for the state.
func WaysFrom[S ~string](stages []Stage[S], at S) []Way[S] {
	for _, s := range stages {
		if s.At == at {
			return s.Next
		}
	}
	return nil
}

// LeadsTo reports whether one of the ways leads to a state.
func LeadsTo[S ~string](ways []Way[S], to S) bool {
	return slices.ContainsFunc(ways, func(w Way[S]) bool { return w.To == to })
}

// Target returns the state to which the first way with the given condition leads; "": no way has the condition.
func Target[S ~string](ways []Way[S], condition string) (to S) {
	for _, w := range ways {
		if w.On == condition {
			return w.To
		}
	}
	return ""
}
