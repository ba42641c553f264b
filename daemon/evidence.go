package daemon

import "time"

// EvidenceCode is why a delivery has its verdict, as a code. Code decides by it, and the words of [Delivery.Evidence] are made of it. Evidence
// that has details of its own, such as the id of a hook, is words alone: its code is "".
type EvidenceCode string

// The codes of evidence.
const (
	EvidenceInTranscript  EvidenceCode = "in_transcript"
	EvidenceNoPane        EvidenceCode = "no_pane"          // the agent has had no pane since before the text was typed
	EvidencePaneGone      EvidenceCode = "pane_gone"        // the pane went while the text was to be typed
	EvidenceEnded         EvidenceCode = "agent_ended"      // the text was not known to be taken when its agent ended
	EvidenceWentOn        EvidenceCode = "went_on"          // a prompt after a limit: its agent has gone on by itself
	EvidenceChanged       EvidenceCode = "context_changed"  // an injection prompt: the context file is not as it was recorded
	EvidenceNotWanted     EvidenceCode = "handoff_ended"    // an instruction: its handoff has ended
	EvidenceRecorded      EvidenceCode = "handoff_recorded" // dropped from the queue at the record of its agent's handoff
	EvidenceStopAsked     EvidenceCode = "stop_asked"       // dropped, because its agent was asked to stop
	EvidenceStepEnded     EvidenceCode = "step_ended"       // dropped, because the step of its agent has ended
	EvidenceBlocked       EvidenceCode = "composer_blocked" // nobody knows whether it was typed, and the composer takes nothing
	EvidenceUnknownScreen EvidenceCode = "screen_unknown"   // nobody knows whether it was typed, and the screen does not tell
)

// evidenceWords are the words of each code.
var evidenceWords = map[EvidenceCode]string{
	EvidenceInTranscript:  "found in the transcript",
	EvidenceNoPane:        "the agent has no pane",
	EvidencePaneGone:      "the pane is gone",
	EvidenceEnded:         "the agent ended",
	EvidenceWentOn:        "the agent goes on without it",
	EvidenceChanged:       "the context file was changed before it was delivered",
	EvidenceNotWanted:     "the handoff ended while it was typed",
	EvidenceRecorded:      "the agent's handoff was recorded",
	EvidenceStopAsked:     "the agent was asked to stop",
	EvidenceStepEnded:     "its step of the pipeline has ended",
	EvidenceBlocked:       "ack_timeout: it is not known whether it was typed, and the composer takes nothing now",
	EvidenceUnknownScreen: "ack_timeout: it is not known whether it was typed, and the screen is not known",
}

// Words returns what people read; "": the code is empty, or a newer daemon has written it.
func (c EvidenceCode) Words() string { return evidenceWords[c] }

// Decide gives the delivery its verdict, for a reason by which nobody decides.
func (d *Delivery) Decide(v Verdict, evidence string, at time.Time) {
	d.State, d.Verdict, d.Evidence, d.EvidenceCode, d.DecidedAt = DeliveryDone, &v, evidence, "", &at
}

// DecideBy gives the delivery its verdict.
func (d *Delivery) DecideBy(v Verdict, code EvidenceCode, at time.Time) {
	d.Decide(v, code.Words(), at)
	d.EvidenceCode = code
}

// Drop has the store decide an agent's queued deliveries as not submitted; its messages stay queued if they are spared.
func (c *Change) Drop(agentID int64, why EvidenceCode, spareMessages bool) {
	c.DropQueued, c.DropEvidence, c.SpareMessages = agentID, why, spareMessages
}
