package daemon

import (
	"strings"
	"time"

	"github.com/understudyd/understudy/tmux"
)

// AgentState is what an agent is doing, as its hooks and its runtime's registry tell.
type AgentState string

// The states of an agent.
const (
	Starting AgentState = "starting" // launched, not yet registered, and no dialog is open
	Idle     AgentState = "idle"     // waits for a prompt
	Working  AgentState = "working"  // a turn is running
	Waiting  AgentState = "waiting"  // a dialog waits for a human
	Ended    AgentState = "ended"    // its process is gone
)

// StopStage is how far the stop ladder of an agent has got.
type StopStage string

// The rungs of the stop ladder, in order.
const (
	StopNone   StopStage = ""
	StopBreak  StopStage = "interrupt" // the running turn was interrupted
	StopAsked  StopStage = "exit"      // the runtime's exit command was typed
	StopAnswer StopStage = "answer"    // the runtime's exit dialog was answered
	StopTerm   StopStage = "term"      // SIGTERM was sent
	StopKill   StopStage = "kill"      // the pane (or, in a pane of a person's, the process) was killed
	StopFailed StopStage = "failed"    // it is still there; a person must look
)

// Agent is one run of a CLI coding agent. The exported JSON is the contract's; the rest is the
// daemon's own.
type Agent struct {
	ID              int64       `json:"id"`
	Name            string      `json:"name"`
	Persona         *string     `json:"persona"`
	Runtime         string      `json:"runtime"`
	Host            string      `json:"host"`
	State           AgentState  `json:"state"`
	StateAt         time.Time   `json:"state_at"`     // since when
	WaitsFor        string      `json:"waits_for"`    // what it asks of a person while its state is waiting: one line
	LastMessage     string      `json:"last_message"` // how its last answer began; "" while it is in trouble
	Trouble         *Trouble    `json:"trouble" db:"in_trouble"`
	Pane            *string     `json:"pane"`        // tmux's pane id, %N
	PaneSocket      string      `json:"tmux_socket"` // of the server that holds the pane
	SessionID       *string     `json:"session_id"`
	TranscriptPath  *string     `json:"transcript_path"`
	Cwd             string      `json:"cwd"`
	Generation      int         `json:"generation"`
	PreviousAgentID *int64      `json:"previous_agent_id"`
	SuccessorID     *int64      `json:"successor_id"` // derived: the newest agent whose predecessor this is
	Context         *ContextUse `json:"context"`
	SkillInjectedAt *time.Time  `json:"skill_injected_at"`
	CreatedAt       time.Time   `json:"created_at"`
	RegisteredAt    *time.Time  `json:"registered_at"`
	FirstPromptID   *int64      `json:"first_prompt_id"` // the delivery of the prompt that it was started with
	EndedAt         *time.Time  `json:"ended_at"`
	EndReason       *string     `json:"end_reason"`
	Note            string      `json:"note"`        // what is wrong with it, or what it waits for
	PipelineID      *int64      `json:"pipeline_id"` // the run that it works for
	StepID          *int64      `json:"step_id"`     // and the step

	Rev             int64      `json:"-"` // advances with each write; guards against lost updates
	Managed         bool       `json:"-"` // started by us, in a pane of our own server
	PaneServerPID   int        `json:"-"`
	PaneServerStart int64      `json:"-"` // Unix seconds
	PaneColumns     int        `json:"-"` // that its pane is made with; 0: as many as is usual
	PaneRows        int        `json:"-"`
	PID             int        `json:"-"` // the runtime's process; 0 unknown
	PIDStart        uint64     `json:"-"` // clock ticks since boot: guards against a reused pid
	LaunchHash      []byte     `json:"-"` // SHA-256 of the launch secret
	TmuxSession     string     `json:"-"` // the session's name, committed before it is made
	Options         []string   `json:"-"` // runtime flags that successors inherit
	Resume          string     `json:"-"` // session to open again; empty: a new one
	BackgroundTasks int        `json:"-"` // as of the last Stop
	LastPrompt      int64      `json:"-"` // hook id of the newest prompt of a person
	LastPromptAt    *time.Time `json:"-"` // when that was given
	LastStop        int64      `json:"-"` // hook id of the newest Stop
	LastHook        int64      `json:"-"` // hook id of the newest hook that was applied
	TurnPromptID    string     `json:"-"` // prompt_id of the running turn
	EndCause        string     `json:"-"` // what else ended with it, see [Event]; "": nothing that is known
	EndHint         string     `json:"-"` // SessionEnd's reason; only a hint until the process is gone
	SpawnedAt       *time.Time `json:"-"` // its pane was made
	AnsweredAt      *time.Time `json:"-"` // the last dialog before its session was gone from its pane
	StopAskedAt     *time.Time `json:"-"` // somebody wants it stopped
	StopForce       bool       `json:"-"` // without asking politely first
	StopStage       StopStage  `json:"-"`
	StopStageAt     *time.Time `json:"-"`
	ContextStart    *float64   `json:"-"` // percent of the window at its first report, or the least since
	AutoAskedAt     *time.Time `json:"-"` // the daemon asked for its handoff; it does so once
	CompactHook     int64      `json:"-"` // hook id of the compaction that was refused; 0: none
	// WorkStop is the hook id of the newest Stop that ended a turn of its own work, not one in which
	// it wrote a handoff document; HandingOver is set during such a turn.
	WorkStop      int64  `json:"-"`
	HandingOver   bool   `json:"-"`
	TurnError     string `json:"-" db:"trouble"` // what its runtime reported instead of the end of its newest turn; "": nothing
	StopInterrupt bool   `json:"-"`              // its turn is to be interrupted before it is asked to exit
	StopYields    bool   `json:"-"`              // its handoff asked, and takes that back if the agent was given work meanwhile
}

// Tier is how far an agent's context window is filled, by the settings handoff.auto.
type Tier string

// The tiers. Without a known window there is none.
const (
	TierNone   Tier = ""
	TierNormal Tier = "normal"
	TierWarn   Tier = "warn"
	TierHigh   Tier = "high"
)

// ContextUse is how full an agent's context window is. Limit and Percent are nil when nothing told
// how large the window is.
type ContextUse struct {
	Tokens  int64    `json:"tokens"`
	Limit   *int64   `json:"limit"`
	Percent *float64 `json:"percent"`
	Tier    Tier     `json:"tier"`
	Source  string   `json:"source"` // statusline or transcript
}

// be changes the agent's state, and reports whether it was another one.
func (a *Agent) be(s AgentState, now time.Time) bool {
	if a.State == s {
		return false
	}
	a.State, a.StateAt = s, now
	if s != Waiting {
		a.WaitsFor = ""
	}
	return true
}

// Active reports whether the agent has not ended.
func (a *Agent) Active() bool { return a.EndedAt == nil }

// Died reports whether it has ended by itself in another way than agents exit by, or was never started:
// somebody has to see to its work. A person's own terminal may be closed by that person.
func (a *Agent) Died() bool {
	if a.Active() || a.StopAskedAt != nil || a.EndReason == nil {
		return false
	}
	reason, _, _ := strings.Cut(*a.EndReason, paneShows) // of one that never had a session it has the last words
	return reason == "process_gone" || (reason == "other" || reason == "tmux_server_gone") && a.Managed || strings.HasPrefix(reason, notStarted)
}

// HasPane reports whether the agent can be typed to.
func (a *Agent) HasPane() bool { return a.Pane != nil && *a.Pane != "" }

// launching reports whether the agent's pane is about to be made.
func (a *Agent) launching() bool { return a.Managed && a.SpawnedAt == nil && a.Active() }

// PersonaSlug returns the persona's slug, or "".
func (a *Agent) PersonaSlug() string {
	if a.Persona == nil {
		return ""
	}
	return *a.Persona
}

// Ref returns the full identity of the agent's pane.
func (a *Agent) Ref() tmux.Ref {
	ref := tmux.Ref{Socket: a.PaneSocket, ServerPID: a.PaneServerPID, ServerStart: a.PaneServerStart}
	if a.Pane != nil {
		ref.Pane = *a.Pane
	}
	return ref
}

// Process returns the identity of the agent's process.
func (a *Agent) Process() tmux.Process { return tmux.Process{PID: a.PID, Start: a.PIDStart} }
