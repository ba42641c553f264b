package daemon

import (
	"time"
)

// EnterPhase puts the handoff into phase p and sets the deadline, and with one of its ends when that came. It adds the time in the previous phase to the handoff's
// metrics, and returns that time in milliseconds; 0, if the handoff was not open.
func (h *Handoff) EnterPhase(p Phase, now time.Time, settings HandoffSettings) (spent float64) {
	if h.Metrics.Phases == nil {
		h.Metrics.Phases = map[Phase]int64{}
	}
	if h.Open() { // the time between a failure and its retry belongs to no phase
		in := Elapsed(h.PhaseAt, now)
		h.Metrics.Phases[h.Phase] += in.Milliseconds()
		spent = float64(in.Microseconds()) / 1000
	}
	h.Phase, h.PhaseAt, h.Deadline = p, now, nil
	h.WaitFor(Hold{}, now)
	if s, ok := StepAt(p); ok && s.Limit != nil {
		at := now.Add(s.Limit(settings))
		h.Deadline = &at
	}
	if h.StartedAt == nil && p != Cancelled {
		h.StartedAt = &now
	}
	h.CompletedAt = nil
	if !h.Open() {
		h.CompletedAt = &now
		h.Metrics.TotalMS = Elapsed(h.CreatedAt, now).Milliseconds()
	}
	h.repeatHeir()
	return spent
}

// repeatHeir keeps the row of an only heir, whose phases are those of the handoff, and the handoff's row alike. The daemon of the
// last release knows the handoff's row alone: SuccessorID and the DeliveryID of the injection prompt are written there for it.
func (h *Handoff) repeatHeir() {
	heir, at := &h.Heirs[0], h.PhaseAt
	if h.HeirsFirst() || heir.AgentID == nil {
		return
	}
	h.SuccessorID, h.DeliveryID = heir.AgentID, heir.DeliveryID
	heir.Phase, heir.PhaseAt = h.Phase, &at
	if h.Phase == Completed {
		heir.BriefedAt = &at
	}
}

// step is one row of the table of phases. docs/states.md is drawn from that table.
type step struct {
	At  Phase
	Who actor
	// Acts says that the step runs the effect in does; otherwise the step waits for the condition in does.
	Acts bool
	Does string
	Next []Way[Phase]
	// Cancel says that a person can cancel the handoff in this phase. A handoff can be cancelled until the document is
	// recorded, because before its record nothing has been shut down.
	Cancel bool
	Retry  []Way[Phase] // the phases in which a retry goes on after a failure in this phase
	// Limit is how long the phase may take. If the phase takes longer, the handoff fails with code and says. nil: the step
	// itself checks its limits.
	Limit     func(HandoffSettings) time.Duration
	LimitName string
	Code      Code
	Says      string
}

// HandoffSteps is the table of a handoff's phases, in order. What is done in a phase is in doPhase.
var HandoffSteps = makeSteps()

func makeSteps() []step {
	verifyAgain := []Way[Phase]{{To: Verifying}}
	exitAgain := []Way[Phase]{{To: ShuttingDown}}
	bySuccessor := func(there Phase) []Way[Phase] {
		return []Way[Phase]{{Spawning, OnSuccessorGone}, {there, OnSuccessorThere}}
	}
	return []step{
		{At: Requested, Who: theDaemon, Acts: true, Does: "make the folder; mode agent: queue the instruction",
			Next: []Way[Phase]{{Instructing, inModeAgent}, {Generating, inModeGenerate}}, Cancel: true, Retry: verifyAgain},
		{At: Instructing, Who: outgoingAgent, Does: "the runtime confirms the instruction (typed to an idle agent; the answer to the Stop of a busy one)",
			Next: []Way[Phase]{{To: AwaitingDocument}}, Cancel: true, Retry: verifyAgain,
			LimitName: "busy_timeout, then ack_timeout"},
		{At: AwaitingDocument, Who: outgoingAgent, Does: "Stop of the turn that took the instruction; or, without a hook, the document is there and the agent idle",
			Next: []Way[Phase]{{To: Verifying}}, Cancel: true, Retry: verifyAgain, LimitName: "document_timeout",
			Limit: func(s HandoffSettings) time.Duration { return s.DocumentTimeout },
			Code:  CodeDocumentTimeout, Says: "The agent did not finish its handoff document in time"},
		{At: Generating, Who: aFork, Does: "mode generate: a forked one-shot of the agent's session writes the document, once the agent is idle",
			Next: []Way[Phase]{{To: Verifying}}, Cancel: true, Retry: verifyAgain,
			LimitName: "busy_timeout until the agent is idle, then document_timeout"},
		{At: Verifying, Who: theDaemon, Acts: true, Does: "check the document, extract its fields, assemble and write the context file",
			Next:   []Way[Phase]{{To: Recorded}, {Instructing, onNoDocument}, {Generating, onNoDocument}},
			Cancel: true, Retry: verifyAgain},
		{At: Recorded, Who: theDaemon, Acts: true, Does: "the record is committed; nothing has been shut down before",
			Next:  []Way[Phase]{{ShuttingDown, onOneSuccessor}, {BriefingHeirs, onHeirsFirst}},
			Retry: []Way[Phase]{{To: Recorded}}},
		{At: BriefingHeirs, Who: theSuccessor, Does: "every heir is briefed; each goes from spawning to briefing by itself, on its own row, with the limits of these phases, and one that fails holds up no other",
			Next: []Way[Phase]{{ShuttingDown, onEndNow}, {Completed, onKeep}}, Retry: []Way[Phase]{{To: BriefingHeirs}},
			LimitName: "those of each heir's phases"},
		{At: ShuttingDown, Who: outgoingAgent, Does: "the outgoing agent's process is gone; it is asked once it is idle, has no background tasks, has no text without a verdict, and was given no work after the instruction",
			Next: []Way[Phase]{{Spawning, onOneSuccessor}, {Completed, onBriefed}, {Verifying, OnWorkedOn}}, Retry: exitAgain,
			LimitName: "exit_timeout, then the stop ladder"},
		{At: Spawning, Who: theDaemon, Does: "the successor's pane is alive; its row was committed in the move that led here",
			Next: []Way[Phase]{{To: AwaitingRegistration}}, Retry: bySuccessor(AwaitingRegistration), LimitName: "30 s",
			Limit: func(HandoffSettings) time.Duration { return spawnLimit },
			Code:  CodeSpawnTimeout, Says: "The successor's pane did not come up in time"},
		{At: AwaitingRegistration, Who: theSuccessor, Does: "SessionStart of that launch; a person may have to answer dialogs before it: each may take an hour, and the limit begins anew with the last answer",
			Next: []Way[Phase]{{To: InjectingSkill}}, Retry: bySuccessor(AwaitingRegistration), LimitName: "registration_timeout",
			Limit: func(s HandoffSettings) time.Duration { return s.RegistrationTimeout },
			Code:  CodeRegistrationTimeout, Says: "The successor did not register in time"},
		{At: InjectingSkill, Who: theSuccessor, Does: "the persona's skill is in place",
			Next: []Way[Phase]{{To: Briefing}}, Retry: bySuccessor(AwaitingRegistration), LimitName: "registration_timeout",
			Limit: func(s HandoffSettings) time.Duration { return s.RegistrationTimeout },
			Code:  CodeSkillTimeout, Says: "The persona's skill was not taken in time"},
		{At: Briefing, Who: theSuccessor, Does: "the runtime confirms the injection prompt",
			Next: []Way[Phase]{{To: Completed}}, Retry: bySuccessor(Briefing),
			LimitName: "registration_timeout until the composer is ready, then ack_timeout"},
	}
}

// spawnLimit is how long the daemon may take to make a pane. Usually that takes milliseconds.
const spawnLimit = 30 * time.Second

// StepAt returns the row of the table for phase p; false, if a handoff ends in p.
func StepAt(p Phase) (step, bool) {
	for _, s := range HandoffSteps {
		if s.At == p {
			return s, true
		}
	}
	return step{}, false
}

// BeforeRecord reports whether a handoff in phase p has no record yet. Without a record, nothing has been shut down.
func BeforeRecord(p Phase) bool {
	s, _ := StepAt(p)
	return s.Cancel
}

// The conditions of the moves from a phase to several others.
const (
	inModeAgent      = "mode agent"
	inModeGenerate   = "mode generate"
	onOneSuccessor   = "one successor"
	onHeirsFirst     = "several heirs, or the agent is kept"
	onEndNow         = "all are briefed"
	onKeep           = "all are briefed, and the agent is kept"
	onBriefed        = "the heirs are briefed; or a retry lets the agent live, which was given work"
	onNoDocument     = "retry without an acceptable document"
	OnWorkedOn       = "retry where the agent was given work that the document may not mention"
	OnSuccessorGone  = "the successor is gone"
	OnSuccessorThere = "the successor is there"
)
