package daemon

import (
	"fmt"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
)

// MissingWords lists the headings of what the handoff lacks of what its successors' roles require; "": nothing that is known.
func (h *Handoff) MissingWords() string {
	titles := make([]string, len(h.Missing))
	for i, name := range h.Missing {
		titles[i] = data.HeadingTitle(name)
	}
	return strings.Join(titles, ", ")
}

// EnterPhase puts an heir into phase p and sets the deadline.
func (h *HandoffHeir) EnterPhase(p Phase, now time.Time, settings HandoffSettings) {
	h.Phase, h.PhaseAt, h.Deadline = p, &now, nil
	h.WaitFor(Hold{}, now)
	if s, ok := StepAt(p); ok && s.Limit != nil {
		at := now.Add(s.Limit(settings))
		h.Deadline = &at
	}
	if p == Completed {
		h.BriefedAt = &now
	}
}

// StartedWords says to the person at the pane that the handoff has begun.
func (h *Handoff) StartedWords() string {
	return fmt.Sprintf("Handoff %d started: the document is generated from this session, then a successor takes over. `understudy handoff cancel %[1]d` cancels it.", h.ID)
}

// CommandWords says to the person at the pane of a handoff's agent how the handoff goes on; "": there is nothing to say yet.
func (h *Handoff) CommandWords(a *Agent) string {
	switch {
	case h.Phase == Failed:
		return fmt.Sprintf("Handoff %d failed: %s", h.ID, words.TrimDot(h.Error.Words())) + "."
	case h.Phase == Cancelled:
		return fmt.Sprintf("Handoff %d was cancelled: this session goes on.", h.ID)
	case h.Phase == Completed:
		return h.CompletedWords()
	case h.RecordedAt != nil:
		return fmt.Sprintf("Handoff %d: the document is recorded. This session ends now, and its successor takes over in the daemon's tmux: `understudy agent attach %s`.",
			h.ID, h.TargetAgent)
	case a.LastPrompt > 0 && a.StateAt.After(h.CreatedAt) && a.State == Working, AwaitedTasks(a, BackgroundWarn) > 0:
		return fmt.Sprintf("Handoff %d waits for the end of this session's work, then its document is generated. `understudy handoff cancel %[1]d` cancels it.", h.ID)
	}
	return ""
}

// EndWords says in one line of a terminal how the handoff has ended, with what to do first; "": it has not ended.
func (h *Handoff) EndWords() string {
	switch {
	case h.Phase == Completed && h.SuccessorID != nil:
		return fmt.Sprintf("Handoff %d is done, agent %d goes on: understudy agent attach %[2]d", h.ID, *h.SuccessorID)
	case h.Phase == Failed:
		return fmt.Sprintf("Handoff %d has failed (%s): understudy handoff show %[1]d", h.ID, h.Error.Code)
	}
	return ""
}

// Leaves reports whether the outgoing agent is going to end: the handoff is recorded, and does not keep the agent.
func (h *Handoff) Leaves() bool { return h.RecordedAt != nil && !h.Keep }

// Passes reports whether the queued messages of the outgoing agent wait for its successor.
func (h *Handoff) Passes() bool { return h.Leaves() && !h.DropMessages && h.Phase != Completed }

// TakesPlaceOf reports whether the successor of a handoff takes the pane of its predecessor, which has ended.
func (h *Handoff) TakesPlaceOf(prev *Agent) bool {
	return h.InPlace && !prev.Active() && prev.Managed && prev.HasPane()
}

// Elapsed returns the time between two times in rows; 0, if the clock was set back in between.
func Elapsed(from, to time.Time) time.Duration { return max(to.Sub(from), 0) }
