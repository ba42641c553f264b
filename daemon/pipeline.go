package daemon

import (
	"slices"
	"time"
)

// PipelineStatus is where a run stands. docs/states.md is generated from the tables in this file.
type PipelineStatus string

// The statuses of a run.
const (
	PipelinePending PipelineStatus = "pending"              // waits for its turn
	PipelineRunning PipelineStatus = "running"              // a step is at work
	PipelineWaiting PipelineStatus = "waiting_for_approval" // a person must approve the next step
	PipelineDone    PipelineStatus = "done"
	PipelineFailed  PipelineStatus = "failed"
)

// StepStatus is where a step of a run stands.
type StepStatus string

// The statuses of a step.
const (
	StepPending StepStatus = "pending"
	StepRunning StepStatus = "running" // its agent's row is committed
	StepDone    StepStatus = "done"    // its output is recorded
	StepFailed  StepStatus = "failed"
	StepSkipped StepStatus = "skipped" // it failed, and a person had the run go on without it
)

// Pipeline is a run of a template: its steps one after the other, each given what the one before
// has left. It is written whole, with those of its steps that change, guarded by Seq.
type Pipeline struct {
	ID             int64          `json:"id"`
	Title          string         `json:"title"`
	Template       string         `json:"template"`
	Prompt         string         `json:"prompt"` // the request, as it was asked for
	Branch         *string        `json:"branch"`
	Cwd            string         `json:"cwd"`      // where its agents work; with a branch: the folder that their work tree was made from
	Worktree       *string        `json:"worktree"` // the run's own git work tree; null: it has none, or not yet
	Host           string         `json:"host"`
	Status         PipelineStatus `json:"status"`
	Error          *string        `json:"error"`            // one sentence
	ErrorCode      Code           `json:"error_code"`       // "": no error
	Hint           string         `json:"hint"`             // what to do next
	Note           string         `json:"note"`             // what it waits for, when its status alone does not tell
	Warnings       []string       `json:"warnings"`         // sentences
	CurrentAgentID *int64         `json:"current_agent_id"` // derived: the newest agent of the running step
	CreatedAt      time.Time      `json:"created_at"`
	UpdatedAt      time.Time      `json:"updated_at"`
	StartedAt      *time.Time     `json:"started_at"`
	FinishedAt     *time.Time     `json:"finished_at"`
	Steps          []Step         `json:"steps"` // by OrderIndex

	Seq     int64  `json:"-"` // advances with each write, and guards it
	WorkDir string `json:"-"` // where agents are started; with a branch inside the work tree, "" until that is made
}

// Step is one step of a run, with the snapshot of what the template and the persona said of it.
type Step struct {
	ID            int64        `json:"id"`
	AgentName     string       `json:"agent_name"` // as the template names it: a persona's slug, or a role
	OrderIndex    int          `json:"order_index"`
	Persona       *string      `json:"persona"` // slug; null: there was none when it was last looked for
	Description   string       `json:"description"`
	Prompt        string       `json:"prompt"` // the template's
	Approval      bool         `json:"approval"`
	ApprovedAt    *time.Time   `json:"approved_at"`
	Comment       string       `json:"approval_comment"`
	Status        StepStatus   `json:"status"`
	Error         *string      `json:"error"`     // one sentence
	AgentIDs      []int64      `json:"agent_ids"` // derived: all that worked on it, the oldest first
	StartedAt     *time.Time   `json:"started_at"`
	FinishedAt    *time.Time   `json:"finished_at"`
	Input         string       `json:"input,omitempty"` // the prompt that its agent was given; left out of lists
	LatestHandoff *StepHandoff `json:"latest_handoff"`

	PipelineID  int64         `json:"-"`
	Skill       string        `json:"-"` // the persona's, when the run was created
	Runtime     string        `json:"-"` // of the agent; "": the default
	Model       string        `json:"-"`
	RemindAfter time.Duration `json:"-"` // 0: never
	Timeout     time.Duration `json:"-"` // 0: as the settings say
	AskedAt     *time.Time    `json:"-"` // when its approval was asked for, or reminded of, last
}

// StepHandoff is what a step leaves to the next one. There is at most one for each step.
type StepHandoff struct {
	ID        int64       `json:"id"`
	ContentMD string      `json:"content_md"` // the agent's final message, as it is
	Metadata  *Structured `json:"metadata"`   // null: nothing could be extracted
	CreatedAt time.Time   `json:"created_at"`

	StepID  int64 `json:"-"`
	AgentID int64 `json:"-"`
}

// Open reports whether the run has not ended.
func (p *Pipeline) Open() bool { return p.Status != PipelineDone && p.Status != PipelineFailed }

// Front returns the index of the first step that is neither done nor skipped, which is the one that
// goes on; len(p.Steps) if there is none.
func (p *Pipeline) Front() int {
	for i, s := range p.Steps {
		if s.Status != StepDone && s.Status != StepSkipped {
			return i
		}
	}
	return len(p.Steps)
}

// allows reports whether a person may give the command in the run's status.
func (p *Pipeline) allows(command string) bool {
	return target(waysFrom(pipelineStages, p.Status), command) != ""
}

// front returns the step at [Pipeline.Front]; nil: there is none.
func (p *Pipeline) front() *Step {
	if i := p.Front(); i < len(p.Steps) {
		return &p.Steps[i]
	}
	return nil
}

// before returns the newest step before s that has left something; nil: there is none.
func (p *Pipeline) before(s *Step) *Step {
	for i := s.OrderIndex - 1; i >= 0; i-- {
		if p.Steps[i].Status == StepDone && p.Steps[i].LatestHandoff != nil {
			return &p.Steps[i]
		}
	}
	return nil
}

// step returns a step by its id; nil: it is not of this run.
func (p *Pipeline) step(id int64) *Step {
	for i := range p.Steps {
		if p.Steps[i].ID == id {
			return &p.Steps[i]
		}
	}
	return nil
}

// newestAgent returns the id of the newest agent that worked on a step; 0: none has.
func (s *Step) newestAgent() int64 {
	if len(s.AgentIDs) == 0 {
		return 0
	}
	return s.AgentIDs[len(s.AgentIDs)-1]
}

// timeout is how long the step may take.
func (s *Step) timeout(set PipelineSettings) time.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	return set.StepTimeout
}

// way is one way out of a state.
type way[S ~string] struct {
	to S
	on string // under which condition, or by which command of a person; "": always
}

// The commands of people that a run's states allow.
const (
	byAbort   = "abort"
	byApprove = "approve"
	byReject  = "reject"
	byResume  = "resume"
	bySkip    = "resume with skip"
)

// actor is who acts in a state: the daemon, or the one for whom it waits.
type actor string

const (
	theDaemon     actor = "daemon"
	outgoingAgent actor = "outgoing agent"
	theSuccessor  actor = "successor"
	aFork         actor = "fork"
	itsAgent      actor = "agent of the step"
	aPerson       actor = "person"
)

// stage is one row of the tables of runs and steps. docs/states.md is drawn from them.
type stage[S ~string] struct {
	at   S
	who  actor
	acts bool   // it runs an effect; otherwise it waits, and says for what
	does string // what is done, or waited for
	next []way[S]
}

// pipelineStages is the whole life of a run. While it is running, its first step that is neither done
// nor skipped is what goes on; see stepStages.
var pipelineStages = []stage[PipelineStatus]{
	{PipelinePending, theDaemon, false, "fewer runs than max_running are at work on its host, and no older one waits",
		[]way[PipelineStatus]{{to: PipelineRunning}, {PipelineFailed, byAbort}}},
	{PipelineRunning, theDaemon, true, "make its work tree, then take each step through its stages; without one that is left it is done",
		[]way[PipelineStatus]{{PipelineWaiting, "the next step wants an approval"}, {PipelineDone, "no step is left"},
			{PipelineFailed, "the step or the work tree failed"}, {PipelineFailed, byAbort}}},
	{PipelineWaiting, aPerson, false, "a person approves or rejects the next step, which is pending meanwhile; it takes up no room",
		[]way[PipelineStatus]{{PipelineRunning, byApprove}, {PipelinePending, byApprove}, {PipelineFailed, byReject}, {PipelineFailed, byAbort}}},
	{PipelineFailed, aPerson, false, "a person resumes it",
		[]way[PipelineStatus]{{PipelineRunning, byResume}, {PipelinePending, byResume}}},
}

// stepStages is the whole life of a step.
var stepStages = []stage[StepStatus]{
	{StepPending, theDaemon, true, "its turn has come, it is approved and the agent before it is gone: its agent's row is committed, with the prompt",
		[]way[StepStatus]{{to: StepRunning}, {StepFailed, "its agent can't be started"}, {StepFailed, byReject}, {StepSkipped, bySkip}}},
	{StepRunning, itsAgent, false, "its agent, or the agent's successor, ends its turn; the output, the audit and the end are one transaction, and the agent is shut down",
		[]way[StepStatus]{{to: StepDone}, {StepFailed, "its agent ended, or took too long"}, {StepFailed, byAbort}}},
	{StepFailed, aPerson, false, "a person resumes the run, with it or without it",
		[]way[StepStatus]{{StepPending, byResume}, {StepSkipped, bySkip}}},
}

// waysFrom are the ways out of a state; none if the table has no row for it.
func waysFrom[S ~string](stages []stage[S], at S) []way[S] {
	for _, s := range stages {
		if s.at == at {
			return s.next
		}
	}
	return nil
}

// leadsTo reports whether one of the ways leads there.
func leadsTo[S ~string](ways []way[S], to S) bool {
	return slices.ContainsFunc(ways, func(w way[S]) bool { return w.to == to })
}

// target is where the first way under a condition leads; "": there is none.
func target[S ~string](ways []way[S], condition string) (to S) {
	for _, w := range ways {
		if w.on == condition {
			return w.to
		}
	}
	return ""
}
