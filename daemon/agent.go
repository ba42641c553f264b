package daemon

import (
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
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

// Agent is one run of a CLI coding agent. Fields with a JSON name are part of the API; the others are the daemon's own. Its parts have no names
// in JSON and in the database: their fields stand there as its own do, in this order.
type Agent struct {
	ID       int64      `json:"id"`
	Name     string     `json:"name"`
	Persona  *string    `json:"persona"`
	Runtime  string     `json:"runtime"`
	Host     string     `json:"host"`
	State    AgentState `json:"state"`
	StateAt  time.Time  `json:"state_at"`  // when State last changed
	WaitsFor string     `json:"waits_for"` // the question to a person while State is Waiting: one line

	AgentTurn
	AgentLimit
	AgentPane
	AgentSession

	Generation      int    `json:"generation"`
	PreviousAgentID *int64 `json:"previous_agent_id"`
	SuccessorID     *int64 `json:"successor_id"` // derived: the newest agent whose PreviousAgentID is this agent

	AgentContext

	SkillInjectedAt *time.Time `json:"skill_injected_at"`
	CreatedAt       time.Time  `json:"created_at"`
	RegisteredAt    *time.Time `json:"registered_at"`
	Model           string     `json:"model"`           // that somebody has chosen for its launch, or, once its handoff is recorded, in its session; "": as its persona and its runtime say
	PermissionMode  string     `json:"permission_mode"` // the same
	Sandbox         bool       `json:"sandbox"`         // it runs in a sandbox, and so does whoever takes over from it
	Args            []string   `json:"args"`            // what the operator has added to its command line; a successor on its runtime has it too
	ReadAt          *time.Time `json:"read_at"`         // when its transcript showed that it has read the document and the context of its handoff
	UnreadAt        *time.Time `json:"unread_at"`       // when the daemon saw that its first turn had ended without that
	FirstPromptID   *int64     `json:"first_prompt_id"` // the delivery of the prompt that the agent was started with
	AgentEnd

	Hold         *Hold      `json:"hold"`           // the agent's problem, or the thing that it waits for; nil: nothing
	Note         string     `json:"note"`           // the words of Hold, which writes it
	PipelineID   *int64     `json:"pipeline_id"`    // the pipeline that it works for
	StepID       *int64     `json:"step_id"`        // the step of that pipeline
	WorktreeID   *int64     `json:"worktree_id"`    // the work tree that was made for its line; null: none was
	LastPromptAt *time.Time `json:"last_prompt_at"` // when that prompt was given
	AllowRules   []string   `json:"allow_rules"`    // what the operator has allowed this agent from then on; see AllowAgent
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

	AgentStop

	Rev        int64      `json:"-"` // advances with each write, and guards it
	Managed    bool       `json:"-"` // the daemon started it, in a pane of its own tmux server
	LaunchHash []byte     `json:"-"` // SHA-256 of the launch secret
	Options    []string   `json:"-"` // runtime flags that successors inherit
	Resume     string     `json:"-"` // the runtime's session that the agent opens again; "": a new session
	LastHook   int64      `json:"-"` // hook id of the newest hook that was applied
	SpawnedAt  *time.Time `json:"-"` // when its pane was made
	AnsweredAt *time.Time `json:"-"` // when the daemon saw that the last dialog before the session was gone
	// Effort is the thinking level with which the agent is launched, and after its handoff's record the level with which it
	// worked last; "": not known.
	Effort string `json:"-"`
	// Reading is set while the daemon looks in the transcript for whether the agent reads the document of its handoff.
	Reading bool `json:"-"`
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

// PersonaSlug returns the persona's slug, or "".
func (a *Agent) PersonaSlug() string {
	if a.Persona == nil {
		return ""
	}
	return *a.Persona
}

const (
	// MostAgents is how many active agents an overview has at most.
	MostAgents = 500
	// Recently is how long people are told of an agent that died, of a failed handoff whose agents have ended, and of a failed pipeline.
	Recently = 24 * time.Hour
)
