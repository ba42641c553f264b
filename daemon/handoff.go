package daemon

import (
	"fmt"
	"time"

	"github.com/understudyd/understudy/data"
)

// Phase is where a handoff stands. docs/states.md is generated from the table in this file.
type Phase string

// The phases of a handoff, in order, and its three ends.
const (
	Requested            Phase = "requested"
	Instructing          Phase = "instructing"
	Generating           Phase = "generating" // in mode generate, in place of the two around it
	AwaitingDocument     Phase = "awaiting_document"
	Verifying            Phase = "verifying"
	Recorded             Phase = "recorded"
	ShuttingDown         Phase = "shutting_down"
	Spawning             Phase = "spawning"
	AwaitingRegistration Phase = "awaiting_registration"
	InjectingSkill       Phase = "injecting_skill"
	Briefing             Phase = "briefing"
	Completed            Phase = "completed"
	Failed               Phase = "failed"
	Cancelled            Phase = "cancelled"
)

// Status is the phase as the outside counts it.
type Status string

// The statuses of a handoff.
const (
	StatusPending    Status = "pending"
	StatusInProgress Status = "in_progress"
	StatusCompleted  Status = "completed"
	StatusFailed     Status = "failed"
	StatusCancelled  Status = "cancelled"
)

// Status is the phase as the outside counts it. The database derives the same.
func (p Phase) Status() Status {
	switch _, open := stepAt(p); {
	case p == Requested:
		return StatusPending
	case open:
		return StatusInProgress
	}
	return Status(p)
}

// Mode is who writes the document of a handoff.
type Mode string

// The modes of a handoff.
const (
	ModeAgent    Mode = "agent"    // the outgoing agent, in its pane
	ModeGenerate Mode = "generate" // a forked one-shot of its session; the pane is left alone
)

// ReasonContext is the reason of the handoffs that the daemon itself asks for.
const ReasonContext = "context_limit"

// Handoff is the passing of one agent's work to its successor.
type Handoff struct {
	ID               int64       `json:"id"`
	Ref              string      `json:"ref"`
	AgentID          int64       `json:"agent_id"`
	Persona          string      `json:"persona"`
	SuccessorID      *int64      `json:"successor_id"`
	Reason           string      `json:"reason"`
	Focus            string      `json:"focus"`
	Mode             Mode        `json:"mode"`
	Status           Status      `json:"status"` // derived from the phase by the database
	Phase            Phase       `json:"phase"`
	Note             string      `json:"note"`     // what it waits for, when that is not plain from the phase
	Deadline         *time.Time  `json:"deadline"` // the phase should be over by then; time in which no daemon ran comes on top
	FilePath         string      `json:"file_path"`
	ContextPath      *string     `json:"context_path"`
	InjectionPrompt  *string     `json:"injection_prompt"`
	Structured       *Structured `json:"structured"`
	RecordedAt       *time.Time  `json:"recorded_at"`
	Generation       int         `json:"generation"`  // of the outgoing agent
	ContextUse       *ContextUse `json:"context_use"` // of the outgoing agent, when it was recorded
	SourceAgent      string      `json:"source_agent"`
	TargetAgent      string      `json:"target_agent"`
	Degraded         bool        `json:"degraded"`
	ContextChecksum  *string     `json:"context_checksum"`
	ContextValidated bool        `json:"context_validated"`
	Warnings         []string    `json:"warnings"`
	Metrics          Metrics     `json:"metrics"`
	Error            *Failure    `json:"error"`
	CreatedAt        time.Time   `json:"created_at"`
	StartedAt        *time.Time  `json:"started_at"`
	CompletedAt      *time.Time  `json:"completed_at"`

	Host       string     `json:"-"`
	Seq        int64      `json:"-"` // advances with each write; with the phase it guards each move
	PhaseAt    time.Time  `json:"-"` // entered the phase
	DeliveryID *int64     `json:"-"` // the instruction or the prompt that the phase waits for
	Trouble    string     `json:"-"` // what the runtime reported instead of a Stop (StopFailure)
	Retrying   bool       `json:"-"` // it was retried; before the record a failed verification instructs anew then
	ForkedAt   *time.Time `json:"-"` // mode generate: the session was forked, StopHook says after which hook

	// Facts that hooks leave behind, in whatever phase they come.
	Confirmed   bool   `json:"-"` // the runtime took the instruction
	PromptID    string `json:"-"` // prompt_id of the turn that took it, where there is one
	PromptQueue bool   `json:"-"` // a turn was running when it was submitted
	StopHook    int64  `json:"-"` // hook id of the Stop that counted; or of the newest hook when the document was found without one, or the session forked
}

// Structured are the fields extracted from the document.
type Structured = data.Structured

// Metrics are the measured times (milliseconds) and sizes of a handoff.
type Metrics struct {
	DurationMS            int64           `json:"duration_ms"` // assembly of the context
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
	// Hint says what to do next where the message is word for word the contract's and does not.
	Hint string `json:"hint,omitempty"`
}

// words is all there is to say of a failure: what happened, and what to do next.
func (f *Failure) words() string {
	if f.Hint == "" {
		return f.Message
	}
	return f.Message + "; " + f.Hint + "."
}

// Open reports whether the handoff has not reached one of its three ends.
func (h *Handoff) Open() bool {
	return h.Phase != Completed && h.Phase != Failed && h.Phase != Cancelled
}

// awaitsStop reports whether the turn that took the instruction has not ended yet.
func (h *Handoff) awaitsStop() bool {
	return h.Confirmed && h.StopHook == 0 && (h.Phase == Instructing || h.Phase == AwaitingDocument)
}

// Retryable reports whether a retry can have the handoff go on: it failed, or it waits for a person to
// decide about work that its document may not mention.
func (h *Handoff) Retryable() bool { return h.Phase == Failed && h.Error != nil || h.awaitsDecision() }

// awaitsDecision reports whether the handoff waits because its agent was given work after the document.
func (h *Handoff) awaitsDecision() bool {
	s, _ := stepAt(h.Phase)
	return h.Note == noteWorkedOn && target(s.next, onWorkedOn) != ""
}

// cancellable reports whether the handoff can be cancelled.
func (h *Handoff) cancellable() bool { return beforeRecord(h.Phase) }

// recordTakenBack reports whether the document of the handoff was recorded, and that was taken back by a retry.
func (h *Handoff) recordTakenBack() bool { return h.RecordedAt == nil && h.ContextChecksum != nil }

// completedWords tell of a handoff that is done.
func (h *Handoff) completedWords() string {
	var successor int64
	if h.SuccessorID != nil {
		successor = *h.SuccessorID
	}
	return fmt.Sprintf("Handoff %d is done: agent %d goes on with what agent %d (%s) did: `understudy agent attach %[2]d`.", h.ID, successor, h.AgentID, h.Persona)
}

// Transition is one move of a handoff, as stored.
type Transition struct {
	HandoffID int64     `json:"handoff_id"`
	Seq       int64     `json:"seq"`
	From      Phase     `json:"from"`
	To        Phase     `json:"to"`
	Cause     string    `json:"cause"`
	At        time.Time `json:"at"`
}
