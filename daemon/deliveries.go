package daemon

import (
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// DeliveryKind says what a delivery is for.
type DeliveryKind string

// The kinds of deliveries.
const (
	KindMessage     DeliveryKind = "message"     // an operator's message
	KindCommand     DeliveryKind = "command"     // an operator's command for the runtime, such as /clear
	KindInstruction DeliveryKind = "instruction" // asks for the handoff document
	KindSkill       DeliveryKind = "skill"       // a persona's skill, for an agent that a person started
	KindPrompt      DeliveryKind = "prompt"      // tells the successor what it takes over
	KindExit        DeliveryKind = "exit"        // the runtime's exit command
	KindGoOn        DeliveryKind = "go_on"       // has an agent go on after a limit
)

// DeliveryState says how far a delivery has come.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryQueued   DeliveryState = "queued"   // waits for its turn, an idle agent and a ready composer
	DeliveryTyping   DeliveryState = "typing"   // the intention to type is committed; the text may or may not be typed
	DeliveryTyped    DeliveryState = "typed"    // typed; the runtime has not confirmed it yet
	DeliveryAnswered DeliveryState = "answered" // the text was given as the answer to a Stop; not yet confirmed
	DeliveryDone     DeliveryState = "done"     // decided: Verdict is set
)

// Verdict is how a delivery ended.
type Verdict string

// The verdicts.
const (
	Submitted    Verdict = "submitted"     // the agent took the text
	NotSubmitted Verdict = "not_submitted" // the text is known not to have reached the agent
	Unconfirmed  Verdict = "unconfirmed"   // no evidence says whether the agent took the text; it is not typed again
)

// Delivery is one text on its way into one pane, with its verdict.
type Delivery struct {
	ID        int64         `json:"id"`
	AgentID   int64         `json:"agent_id"`
	HandoffID *int64        `json:"handoff_id"`
	Kind      DeliveryKind  `json:"kind"`
	Text      string        `json:"text"`
	Nonce     string        `json:"nonce"` // a mark in Text that the confirmed prompt must contain; "": Text itself
	State     DeliveryState `json:"state"`
	Verdict   *Verdict      `json:"verdict"`
	Attempts  int           `json:"attempts"` // how often Enter was pressed
	Evidence  string        `json:"evidence"` // why the verdict was given, in words
	CreatedAt time.Time     `json:"created_at"`
	TypedAt   *time.Time    `json:"typed_at"`
	DecidedAt *time.Time    `json:"decided_at"`

	FromAgentID *int64 `json:"from_agent_id"` // the agent that sent it; nil: the operator or the daemon did
	PassedFrom  *int64 `json:"passed_from"`   // the agent for which it was queued, if it was passed on to a successor
	TypedAgain  bool   `json:"typed_again"`   // the text was lost before the runtime took it, so it is typed once more

	Rev     int64  `json:"-"`
	HookKey string `json:"-"` // key of the Stop that was answered with the text
	// EvidenceCode says what Evidence says, for code to decide by; "": Evidence is words alone.
	EvidenceCode EvidenceCode `json:"-"`
	// AfterHook is the id of the agent's newest hook before the text was typed or given as an answer; 0: not known.
	AfterHook int64 `json:"-"`
	// Heard is the id of the hook by which the runtime told of the text as a prompt, before other hooks may have refused it; 0: none
	// has. See daemon/deliveries/refused.go.
	Heard   int64      `json:"-" db:"heard_hook"`
	HeardAt *time.Time `json:"-"` // when that hook was sent
	// Way is how the text is given to the agent. It is set with TypedAt; before, and for the answer to a Stop, it is "".
	Way runtimes.Way `json:"-"`
}

// NewDelivery returns the row of a text that begins to wait in an agent's queue. nonce is the mark in it; "": it has none.
func NewDelivery(id, agentID int64, kind DeliveryKind, text, nonce string, now time.Time) *Delivery {
	return &Delivery{ID: id, AgentID: agentID, Kind: kind, Text: text, Nonce: nonce, State: DeliveryQueued, CreatedAt: now}
}

// Open reports whether the delivery has no verdict yet.
func (d *Delivery) Open() bool { return d.State != DeliveryDone }

// Has reports whether the verdict is v.
func (d *Delivery) Has(v Verdict) bool { return d.Verdict != nil && *d.Verdict == v }
