package daemon

import "time"

// DeliveryKind is what a typed text is for.
type DeliveryKind string

// The kinds of deliveries.
const (
	KindMessage     DeliveryKind = "message"     // from an operator
	KindCommand     DeliveryKind = "command"     // a command of the runtime, from an operator
	KindInstruction DeliveryKind = "instruction" // asks for the handoff document
	KindSkill       DeliveryKind = "skill"       // a persona's skill, for an agent that a person started
	KindPrompt      DeliveryKind = "prompt"      // tells the successor what it takes over
	KindExit        DeliveryKind = "exit"        // the runtime's exit command
)

// DeliveryState is where a delivery stands.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryQueued   DeliveryState = "queued"   // waits for its turn
	DeliveryTyping   DeliveryState = "typing"   // committed before anything is typed
	DeliveryTyped    DeliveryState = "typed"    // typed; the runtime has not confirmed it yet
	DeliveryAnswered DeliveryState = "answered" // given as the answer to a Stop; not yet confirmed
	DeliveryDone     DeliveryState = "done"     // has a verdict
)

// Verdict is how a delivery ended.
type Verdict string

// The verdicts.
const (
	Submitted    Verdict = "submitted"     // the runtime confirmed it
	NotSubmitted Verdict = "not_submitted" // known not to have reached the agent
	Unconfirmed  Verdict = "unconfirmed"   // nobody can tell; it is not typed again
)

// Delivery is one text for one pane, with its verdict.
type Delivery struct {
	ID        int64         `json:"id"`
	AgentID   int64         `json:"agent_id"`
	HandoffID *int64        `json:"handoff_id"`
	Kind      DeliveryKind  `json:"kind"`
	Text      string        `json:"text"`
	Nonce     string        `json:"nonce"` // text that the runtime's confirmation must contain; empty: the text itself
	State     DeliveryState `json:"state"`
	Verdict   *Verdict      `json:"verdict"`
	Attempts  int           `json:"attempts"` // how often Enter was pressed
	Evidence  string        `json:"evidence"` // what the verdict rests on
	CreatedAt time.Time     `json:"created_at"`
	TypedAt   *time.Time    `json:"typed_at"`
	DecidedAt *time.Time    `json:"decided_at"`

	Rev     int64  `json:"-"`
	HookKey string `json:"-"` // of the Stop whose answer it was
	// AfterHook is the newest hook of the agent from before the text was typed, or was the answer to it; 0: not known.
	AfterHook int64 `json:"-"`
}

// Open reports whether the delivery has no verdict yet.
func (d *Delivery) Open() bool { return d.State != DeliveryDone }

// decide gives the delivery its verdict.
func (d *Delivery) decide(v Verdict, evidence string, at time.Time) {
	d.State, d.Verdict, d.Evidence, d.DecidedAt = DeliveryDone, &v, evidence, &at
}

// has reports whether the delivery ended with verdict v.
func (d *Delivery) has(v Verdict) bool { return d.Verdict != nil && *d.Verdict == v }
