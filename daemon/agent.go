package daemon

import (
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/tmux"
)

// AgentState says what an agent is doing. The daemon learns it from the agent's hooks, from the runtime's registry and from
// the agent's screen.
type AgentState string

// The states of an agent.
const (
	// Starting: its row is committed, and its session has not begun. Its first SessionStart ends this state, and so does a
	// dialog that the runtime opens before the session.
	Starting AgentState = "starting"
	// Idle: no turn runs and no dialog is open. A prompt that the runtime takes ends this state.
	Idle AgentState = "idle"
	// Working: a turn runs. The turn's Stop or StopFailure ends this state, and so does a dialog.
	Working AgentState = "working"
	// Waiting: a dialog in its pane waits for a person, or a signal has stopped its process. The next hook of its turn ends
	// this state. If no hook comes, a new state in the runtime's registry ends it.
	Waiting AgentState = "waiting"
	// Limited: its runtime has ended the last turn because of a limit, no turn runs and no dialog is open. [Limit] says more.
	// The next turn ends this state.
	Limited AgentState = "limited"
	// Ended: its process is gone. This state is final.
	Ended AgentState = "ended"
)

// StopStage is the rung of the stop ladder that an agent stands on. The daemon commits a rung before it has the rung's
// effect. On every rung the ladder ends when the agent's process ends.
type StopStage string

// The rungs of the stop ladder, in order. The ladder skips rungs that are not needed.
const (
	// StopNone: the agent was not asked to stop or, with StopAskedAt set, the ladder has not begun. The ladder waits for the
	// composer of an idle agent to be ready, at most readyAfter.
	StopNone StopStage = ""
	// StopBreak: Escape interrupts the running turn. When the turn has ended, StopAsked follows; after breakAfter, StopTerm.
	StopBreak StopStage = "interrupt"
	// StopAsked: the runtime's exit command is typed. If the runtime opens its exit dialog, StopAnswer follows; after
	// exit_timeout, StopTerm.
	StopAsked StopStage = "exit"
	// StopAnswer: the runtime's exit dialog is answered. After exit_timeout, StopTerm follows.
	StopAnswer StopStage = "answer"
	// StopTerm: SIGTERM is sent to the process. After killAfter, StopKill follows.
	StopTerm StopStage = "term"
	// StopKill: the pane is killed. If the pane is a person's, only the process is. After giveUpAfter, StopFailed follows.
	StopKill StopStage = "kill"
	// StopFailed: the process lives although it was killed, and a person must look. A new request to stop the agent begins
	// the ladder anew.
	StopFailed StopStage = "failed"
)

// Agent is one run of a CLI coding agent. Fields with a JSON name are part of the API; the others are the daemon's own.
type Agent struct {
	ID              int64       `json:"id"`
	Name            string      `json:"name"`
	Persona         *string     `json:"persona"`
	Runtime         string      `json:"runtime"`
	Host            string      `json:"host"`
	State           AgentState  `json:"state"`
	StateAt         time.Time   `json:"state_at"`        // when State last changed
	WaitsFor        string      `json:"waits_for"`       // the question to a person while State is Waiting: one line
	LastMessage     string      `json:"last_message"`    // the beginning of its last answer; "" while it is in trouble
	Asked           string      `json:"last_prompt"`     // the beginning of what a person or another agent has asked last, of it or before in its line
	Unread          bool        `json:"unread"`          // it has finished its turn since the operator looked last
	FinishedAt      *time.Time  `json:"finished_at"`     // when it finished the last turn of its own work and went to rest
	NotifyFinished  string      `json:"notify_finished"` // whether the operator is notified of that: "on", "off", or "" for what its persona says
	Trouble         *Trouble    `json:"trouble" db:"in_trouble"`
	Limit           *Limit      `json:"limit" db:"in_limit"` // what limit it has hit, and what is done about it; nil: none
	LimitedUntil    *time.Time  `json:"limited_until"`       // while State is Limited: when the limit ends; nil: not known
	Pane            *string     `json:"pane"`                // tmux's pane id, %N
	PaneSocket      string      `json:"tmux_socket"`         // the socket of the tmux server that holds the pane
	SessionID       *string     `json:"session_id"`
	TranscriptPath  *string     `json:"transcript_path"`
	Cwd             string      `json:"cwd"`        // where its session works, as its own hooks tell
	StartCwd        string      `json:"start_cwd"`  // where its session began, once it has moved; "": it works there still
	Repository      string      `json:"repository"` // the name of the git repository that Cwd is in; "": none, or nobody has looked yet
	Branch          string      `json:"branch"`     // what is checked out there: a branch, or the first digits of a commit
	Generation      int         `json:"generation"`
	PreviousAgentID *int64      `json:"previous_agent_id"`
	SuccessorID     *int64      `json:"successor_id"` // derived: the newest agent whose PreviousAgentID is this agent
	Context         *ContextUse `json:"context"`
	SkillInjectedAt *time.Time  `json:"skill_injected_at"`
	CreatedAt       time.Time   `json:"created_at"`
	RegisteredAt    *time.Time  `json:"registered_at"`
	Model           string      `json:"model"`           // that somebody has chosen for its launch, or, once its handoff is recorded, in its session; "": as its persona and its runtime say
	PermissionMode  string      `json:"permission_mode"` // the same
	Args            []string    `json:"args"`            // what the operator has added to its command line; a successor on its runtime has it too
	ReadAt          *time.Time  `json:"read_at"`         // when its transcript showed that it has read the document and the context of its handoff
	UnreadAt        *time.Time  `json:"unread_at"`       // when the daemon saw that its first turn had ended without that
	FirstPromptID   *int64      `json:"first_prompt_id"` // the delivery of the prompt that the agent was started with
	EndedAt         *time.Time  `json:"ended_at"`
	EndCode         EndCode     `json:"end_code"`    // why it has ended; "": it has not
	EndReason       *string     `json:"end_reason"`  // EndCode in words, with what is known besides; EndBy writes both
	Hold            *Hold       `json:"hold"`        // the agent's problem, or the thing that it waits for; nil: nothing
	Note            string      `json:"note"`        // the words of Hold, which writes it
	PipelineID      *int64      `json:"pipeline_id"` // the pipeline that it works for
	StepID          *int64      `json:"step_id"`     // the step of that pipeline
	WorktreeID      *int64      `json:"worktree_id"` // the work tree that was made for its line; null: none was

	Rev             int64      `json:"-"` // advances with each write, and guards it
	Managed         bool       `json:"-"` // the daemon started it, in a pane of its own tmux server
	PaneServerPID   int        `json:"-"`
	PaneServerStart int64      `json:"-"`              // Unix seconds
	PaneColumns     int        `json:"-"`              // the pane is made with so many columns; 0: the default
	PaneRows        int        `json:"-"`              // the pane is made with so many rows; 0: the default
	PID             int        `json:"-"`              // the runtime's process; 0: not known
	PIDStart        uint64     `json:"-"`              // when the process started, in clock ticks since boot; later ones with its pid differ
	LaunchHash      []byte     `json:"-"`              // SHA-256 of the launch secret
	TmuxSession     string     `json:"-"`              // the name of its tmux session, committed before the session is made
	Options         []string   `json:"-"`              // runtime flags that successors inherit
	Resume          string     `json:"-"`              // the runtime's session that the agent opens again; "": a new session
	BackgroundTasks int        `json:"-"`              // how many tasks the last Stop reported, less the tasks that have ended since
	LastPrompt      int64      `json:"-"`              // hook id of the newest prompt that gave it work: see takeWork
	LastPromptAt    *time.Time `json:"last_prompt_at"` // when that prompt was given
	LastStop        int64      `json:"-"`              // hook id of the newest Stop
	LastHook        int64      `json:"-"`              // hook id of the newest hook that was applied
	TurnPromptID    string     `json:"-"`              // prompt_id of the running turn
	EndCause        string     `json:"-"`              // the tmux server that ended with the agent, for an event's Cause; "": not known
	EndHint         string     `json:"-"`              // the reason in its SessionEnd; only a hint until the process is gone
	SpawnedAt       *time.Time `json:"-"`              // when its pane was made
	AnsweredAt      *time.Time `json:"-"`              // when the daemon saw that the last dialog before the session was gone
	StopAskedAt     *time.Time `json:"-"`              // when somebody asked the agent to stop; nil: nobody did
	StopForce       bool       `json:"-"`              // the stop ladder begins with SIGTERM
	StopStage       StopStage  `json:"-"`
	StopStageAt     *time.Time `json:"-"`
	ContextStart    *float64   `json:"-"` // the lowest use of the context window that the daemon measured, in percent
	AutoAskedAt     *time.Time `json:"-"` // when the daemon requested a handoff of the nearly full agent; it does so once
	CompactHook     int64      `json:"-"` // hook id of the compaction that was refused; 0: none
	// WorkStop is the hook id of the newest Stop that ended a turn of the agent's own work. The turn in which the agent
	// writes a handoff document does not count. HandingOver is set during that turn.
	WorkStop    int64 `json:"-"`
	HandingOver bool  `json:"-"`
	// StopCameAt is when the Stop of its turn came, until it is known whether the turn is over; nil: no turn has just ended.
	StopCameAt *time.Time `json:"-"`
	// Background is what runs beside its turns, as its last Stop has told; nil: nothing.
	Background    *Background `json:"-"`
	TurnError     string      `json:"-" db:"trouble"` // the error with which the newest turn ended; "": none
	StopInterrupt bool        `json:"-"`              // the stop ladder begins by interrupting the running turn
	StopYields    bool        `json:"-"`              // a handoff asked for the stop; new work for the agent takes that back
	// Effort is the thinking level with which the agent is launched, and after its handoff's record the level with which it
	// worked last; "": not known.
	Effort string `json:"-"`
	// LimitTriedAt is when the first turn after the agent's last limit began. A step's time begins anew with it.
	LimitTriedAt *time.Time `json:"-"`
	AllowRules   []string   `json:"allow_rules"` // what the operator has allowed this agent from then on; see AllowAgent
	// SessionMode is the permission mode that the newest hook of its session told; "": none did.
	SessionMode string `json:"session_mode"`
	// DialogAnswer is the last answer to a dialog of it that the operator has given from elsewhere than its pane; nil: none.
	DialogAnswer *DialogAnswer `json:"dialog_answer"`
	// Keys says that its pane takes keys from a browser; nil: it does not.
	Keys *KeysTaken `json:"keys"`
	// Account is the account of the session that a person started in its line, and which it has too; nil: the daemon's own.
	Account *runtimes.Account `json:"account"`
	// DismissedAt is when the operator said that they have seen that it died; nil: they did not, or it did not die.
	DismissedAt *time.Time `json:"dismissed_at"`
	// Reading is set while the daemon looks in the transcript for whether the agent reads the document of its handoff.
	Reading bool `json:"-"`
	// Base is the state in which the agent found its working directory; nil: it was not looked at.
	Base *worktree.Base `json:"-"`
	// StartBase is Base of StartCwd, for when the session moves back.
	StartBase *worktree.Base `json:"-"`
}

// Tier says how full an agent's context window is, by the limits in the settings handoff.auto.
type Tier string

// The tiers. TierNone: the size of the window is not known.
const (
	TierNone   Tier = ""
	TierNormal Tier = "normal"
	TierWarn   Tier = "warn"
	TierHigh   Tier = "high"
)

// ContextUse says how full an agent's context window is. Limit and Percent are nil while the size of the window is not
// known.
type ContextUse struct {
	Tokens  int64    `json:"tokens"`
	Limit   *int64   `json:"limit"`
	Percent *float64 `json:"percent"`
	Tier    Tier     `json:"tier"`
	Source  string   `json:"source"` // where Tokens was read: "statusline", "transcript" or "hook"
}

// Be changes the agent's state, and reports whether the agent was in another state before.
func (a *Agent) Be(s AgentState, now time.Time) bool {
	if a.State == s {
		return false
	}
	a.State, a.StateAt = s, now
	if s != Waiting {
		a.WaitsFor = ""
	}
	a.endRetrying()
	if s == Working {
		a.tryLimit(now)
	}
	return true
}

// RestSince notes a sign of rest that came before the hook of its prompt: a hook of an earlier moment tells of no turn that runs.
func (a *Agent) RestSince(at time.Time) {
	if a.AtRest() && at.After(a.StateAt) {
		a.StateAt = at
	}
}

// Ask notes what the agent asks a person for while it waits, in one line; "": that is not known.
func (a *Agent) Ask(what string) { a.WaitsFor = words.Clip(words.Line(what), MaxWaitsFor) }

// Active reports whether the agent has not ended.
func (a *Agent) Active() bool { return a.EndedAt == nil }

// Died reports whether a person has to see to the work of an ended agent. Nobody asked the agent to stop, and either it did
// not exit by itself, or it could not be started. A person's agent that ended with its terminal did not die, because the
// person may have closed the terminal.
func (a *Agent) Died() bool {
	if a.Active() || a.StopAskedAt != nil {
		return false
	}
	switch a.EndCode {
	case EndedGone, EndedLost, EndedNotStarted:
		return true
	case EndedOther, EndedByServer:
		return a.Managed
	}
	return false
}

// LeavesWork reports whether an agent that works for no pipeline has died, and the operator has not dismissed it.
func (a *Agent) LeavesWork() bool { return a.PipelineID == nil && a.Died() && a.DismissedAt == nil }

// EndCode is why an agent has ended. The reasons that a runtime gives in its SessionEnd are codes as well, such as prompt_input_exit; the
// daemon decides by none of them but EndedOther.
type EndCode string

// The codes.
const (
	EndedGone       EndCode = "process_gone"      // its process is gone, and nobody told why
	EndedByItself   EndCode = "exited"            // its program exited well and told nobody why
	EndedByServer   EndCode = "tmux_server_gone"  // its tmux server is gone
	EndedLost       EndCode = "conversation_gone" // its runtime did not find the session that it was to open again
	EndedNotStarted EndCode = "not_started"       // it could not be started
	EndedOther      EndCode = "other"             // its runtime was ended by a signal or with its terminal
)

// saysNotStarted stands in the end reason before why an agent could not be started.
const saysNotStarted = "not started: "

// EndBy notes why the agent has ended. said is what is known besides, for people; "": nothing.
func (a *Agent) EndBy(code EndCode, said string) {
	reason := string(code) + said
	if code == EndedNotStarted {
		reason = saysNotStarted + said
	}
	a.EndCode, a.EndReason = code, &reason
}

// HasPane reports whether the agent has a pane that text can be typed into.
func (a *Agent) HasPane() bool { return a.Pane != nil && *a.Pane != "" }

// Launching reports whether the agent's pane is about to be made.
func (a *Agent) Launching() bool { return a.Managed && a.SpawnedAt == nil && a.Active() }

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

// SetProcess notes the runtime's process, which may change while the agent lives.
func (a *Agent) SetProcess(p tmux.Process) { a.PID, a.PIDStart = p.PID, p.Start }

// Process returns the identity of the agent's process.
func (a *Agent) Process() tmux.Process { return tmux.Process{PID: a.PID, Start: a.PIDStart} }

const (
	// MostAgents is how many active agents an overview has at most.
	MostAgents = 500
	// Recently is how long people are told of an agent that died, of a failed handoff whose agents have ended, and of a failed pipeline.
	Recently = 24 * time.Hour
)
