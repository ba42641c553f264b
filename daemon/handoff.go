package daemon

import (
	"time"

	"github.com/understudyd/understudy/data"
)

// Phase is where a handoff stands. docs/states.md is drawn from the table in flow.go.
type Phase string

// The phases of a handoff, in order, and its three ends.
const (
	// Requested: the row is committed, and nothing is done yet. The lane of the outgoing agent makes the folder of the
	// document and moves on: in mode agent to instructing, with the instruction queued; in mode generate to generating.
	Requested Phase = "requested"
	// Instructing: the instruction is on its way to the outgoing agent. The verdict that the agent's runtime took it moves
	// the handoff on.
	Instructing Phase = "instructing"
	// Generating stands in mode generate in place of instructing and awaiting_document: a fork of the agent's session
	// writes the document. The end of the fork moves the handoff on.
	Generating Phase = "generating"
	// AwaitingDocument: the outgoing agent writes the document. The Stop of that turn moves the handoff on.
	AwaitingDocument Phase = "awaiting_document"
	// Verifying: the document is there. The lane checks it, assembles the context file, and moves on with the record. A
	// retry comes back to this phase, and from it asks for the document again if it is not acceptable.
	Verifying Phase = "verifying"
	// Recorded: the database has the document and the context. From here on the outgoing agent can be ended, and nobody
	// can cancel. The lane moves on at once.
	Recorded Phase = "recorded"
	// BriefingHeirs stands before shutting_down if there are several heirs, or if the outgoing agent is kept. Each heir is
	// started and briefed, on a row of its own. When all are briefed, the handoff moves on; or it is completed, if the
	// outgoing agent is kept.
	BriefingHeirs Phase = "briefing_heirs"
	// ShuttingDown: the outgoing agent is asked to exit once it is idle. The end of its process moves the handoff on. That
	// move commits the row of the successor; or it completes the handoff, if the heirs are briefed already. If the agent is
	// given work instead, a retry leads back to verifying; or it lets the agent live, if the heirs are briefed already.
	ShuttingDown Phase = "shutting_down"
	// Spawning: the successor's own lane makes its pane. The pane's commit moves the handoff on.
	Spawning Phase = "spawning"
	// AwaitingRegistration: the successor's runtime starts. Its SessionStart moves the handoff on.
	AwaitingRegistration Phase = "awaiting_registration"
	// InjectingSkill: the successor is given the persona's skill. The lane then queues the injection prompt and moves on.
	InjectingSkill Phase = "injecting_skill"
	// Briefing: the injection prompt is on its way to the successor. The verdict that the successor's runtime took it
	// completes the handoff.
	Briefing Phase = "briefing"
	// Completed: the successor has the work. Nothing moves the handoff on.
	Completed Phase = "completed"
	// Failed: the handoff's Error says in which phase, and why. A person's retry moves it on.
	Failed Phase = "failed"
	// Cancelled: the handoff was cancelled before its record. Nothing moves it on.
	Cancelled Phase = "cancelled"
)

// Status groups the phases for the API.
type Status string

// The statuses of a handoff.
const (
	StatusPending    Status = "pending"
	StatusInProgress Status = "in_progress"
	StatusCompleted  Status = "completed"
	StatusFailed     Status = "failed"
	StatusCancelled  Status = "cancelled"
)

// Status returns the status of a handoff in phase p. The database derives the same.
func (p Phase) Status() Status {
	switch _, open := StepAt(p); {
	case p == Requested:
		return StatusPending
	case open:
		return StatusInProgress
	}
	return Status(p)
}

// Mode says who writes the document of a handoff.
type Mode string

// The modes of a handoff.
const (
	ModeAgent    Mode = "agent"    // the outgoing agent writes it, in its pane
	ModeGenerate Mode = "generate" // a forked one-shot of the agent's session writes it; nothing is typed into the pane
	// ModeTranscript: a one-shot of the successor's runtime writes it from the conversation's transcript. If that fails, the
	// daemon writes it from what it knows. This mode needs nothing from the agent, nor from its runtime.
	ModeTranscript Mode = "transcript"
)

// Writer says who wrote the document of a handoff.
type Writer string

// The writers of documents.
const (
	WrittenByAgent    Writer = "agent"    // the outgoing agent
	WrittenByFork     Writer = "fork"     // a fork of its session
	WrittenByFallback Writer = "fallback" // a one-shot of the successor's runtime, from the conversation's transcript
	WrittenByDaemon   Writer = "daemon"   // the daemon, from what it knows; nobody has judged it
)

// ReasonContext is the reason of a handoff that the daemon requests for an agent whose context is nearly full.
const ReasonContext = "context_limit"

// Handoff is the passing of one agent's work to its successor.
type Handoff struct {
	ID               int64       `json:"id"`
	Ref              string      `json:"ref"`
	AgentID          int64       `json:"agent_id"`
	Persona          string      `json:"persona"`
	SuccessorID      *int64      `json:"successor_id"` // the agent of the first heir
	Reason           string      `json:"reason"`
	Focus            string      `json:"focus"`
	Mode             Mode        `json:"mode"`
	Status           Status      `json:"status"` // derived from the phase by the database
	Phase            Phase       `json:"phase"`
	Hold             *Hold       `json:"hold"`     // what the handoff waits for, where the phase does not say; nil: the phase says it
	Note             string      `json:"note"`     // the words of Hold, which writes it
	Deadline         *time.Time  `json:"deadline"` // when the phase is to be over; time in which no daemon ran is added
	FilePath         string      `json:"file_path"`
	ContextPath      *string     `json:"context_path"`
	InjectionPrompt  *string     `json:"injection_prompt"`
	Structured       *Structured `json:"structured"`
	RecordedAt       *time.Time  `json:"recorded_at"`
	Generation       int         `json:"generation"`  // of the outgoing agent
	ContextUse       *ContextUse `json:"context_use"` // of the outgoing agent, at the record
	SourceAgent      string      `json:"source_agent"`
	TargetAgent      string      `json:"target_agent"`
	WrittenBy        Writer      `json:"written_by"` // who wrote the document; "": it is not recorded yet, or an older version recorded it
	Degraded         bool        `json:"degraded"`
	ContextChecksum  *string     `json:"context_checksum"`
	ContextValidated bool        `json:"context_validated"` // the handoff has all that the roles of its successors require
	Missing          []string    `json:"missing"`           // what it lacks of that, such as code_patterns; empty if that was not checked
	Warnings         []string    `json:"warnings"`
	Metrics          Metrics     `json:"metrics"`
	Error            *Failure    `json:"error"`
	CreatedAt        time.Time   `json:"created_at"`
	StartedAt        *time.Time  `json:"started_at"`
	CompletedAt      *time.Time  `json:"completed_at"`

	// ReadAt is when the transcripts of all successors showed that they have read the document and the context. UnreadAt is
	// when the first turn of one that has not read them had ended. They are derived: nil in what the store returns.
	ReadAt   *time.Time `json:"read_at" db:"-"`
	UnreadAt *time.Time `json:"unread_at" db:"-"`

	Keep bool `json:"keep"` // the outgoing agent lives on
	// InPlace says that the successor takes the pane of the outgoing agent. If that is not possible, it gets a pane of its
	// own, and a warning says so.
	InPlace bool          `json:"in_place"`
	Heirs   []HandoffHeir `json:"heirs" db:"heirs"` // in the order of the request; at least one

	DropMessages bool `json:"drop_messages"` // the outgoing agent's queued messages are dropped, and not passed on
	Forced       bool `json:"forced"`        // a document is taken although it says next to nothing, or seems to have secrets

	Host       string     `json:"-"`
	Seq        int64      `json:"-"` // grows by one with each write; Seq and Phase guard each move
	PhaseAt    time.Time  `json:"-"` // when the handoff entered the phase
	DeliveryID *int64     `json:"-"` // the instruction; of an only heir that has begun, its injection prompt, which the last release's daemon reads here
	Trouble    string     `json:"-"` // what StopFailure said of the turn that took the instruction
	Retrying   bool       `json:"-"` // set by a retry: a failed verification then asks for the document anew
	ForkedAt   *time.Time `json:"-"` // mode generate: when the session was forked; StopHook has the newest hook before that

	// Facts that hooks note on the row, in whatever phase they come. turn.go writes them.
	Confirmed   bool   `json:"-"` // the runtime took the instruction
	PromptID    string `json:"-"` // prompt_id of the turn that took the instruction; "": none was reported
	PromptQueue bool   `json:"-"` // a turn was running when the instruction was submitted
	StopHook    int64  `json:"-"` // id of the Stop that ended that turn; or of the newest hook, when the document was found without a Stop or the session was forked
}

// Structured are the fields extracted from the document.
type Structured = data.Structured

// Metrics are the measured times (in milliseconds) and sizes of a handoff.
type Metrics struct {
	DurationMS            float64         `json:"duration_ms"` // the assembly of the context, to the microsecond
	TotalMS               int64           `json:"total_ms"`
	ContextSizeBytes      int64           `json:"context_size_bytes"`
	MessagesTransferred   int             `json:"messages_transferred"`
	DecisionsTransferred  int             `json:"decisions_transferred"`
	MemoryRefsTransferred int             `json:"memory_refs_transferred"`
	Phases                map[Phase]int64 `json:"phases"`
}

// Failure says where and why a handoff failed, in one sentence that names what to do next.
type Failure struct {
	Phase   Phase  `json:"phase"`
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Hint says what to do next, where the contract fixes Message and Message does not say it.
	Hint string `json:"hint,omitempty"`
}

// Words returns all that a failure says: what happened, and what to do next.
func (f *Failure) Words() string {
	if f.Hint == "" {
		return f.Message
	}
	return f.Message + "; " + f.Hint + "."
}

// SaysNothing reports whether the handoff has failed because its document says next to nothing, so that a retry may force it.
func (h *Handoff) SaysNothing() bool {
	return h.Phase == Failed && h.Error != nil && h.Error.Code == data.DocumentSaysNothing
}

// HasSecrets reports whether the handoff has failed because its document seems to have secrets, so that a retry may force it.
func (h *Handoff) HasSecrets() bool {
	return h.Phase == Failed && h.Error != nil && h.Error.Code == data.DocumentSecret
}

// Open reports whether the handoff has reached none of its three ends.
func (h *Handoff) Open() bool {
	return h.Phase != Completed && h.Phase != Failed && h.Phase != Cancelled
}

// AwaitsStop reports whether the turn that took the instruction still runs.
func (h *Handoff) AwaitsStop() bool {
	return h.Confirmed && h.StopHook == 0 && (h.Phase == Instructing || h.Phase == AwaitingDocument)
}

// Retryable reports whether a retry moves the handoff on: it failed, or it awaits a person's decision.
func (h *Handoff) Retryable() bool { return h.Phase == Failed && h.Error != nil || h.AwaitsDecision() }

// AwaitsDecision reports whether the handoff waits for a person because its agent was given work after the document
// was written.
func (h *Handoff) AwaitsDecision() bool {
	s, _ := StepAt(h.Phase)
	return h.Hold.Is(HoldWorkedOn, HoldWorkedAside) && Target(s.Next, OnWorkedOn) != ""
}

// Cancellable reports whether the handoff can be cancelled.
func (h *Handoff) Cancellable() bool { return BeforeRecord(h.Phase) }

// Transition is one move of a handoff, as stored.
type Transition struct {
	HandoffID int64     `json:"handoff_id"`
	Seq       int64     `json:"seq"`
	From      Phase     `json:"from"`
	To        Phase     `json:"to"`
	Cause     string    `json:"cause"`
	At        time.Time `json:"at"`
}
