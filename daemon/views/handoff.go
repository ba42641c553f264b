package views

import (
	"fmt"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
)

// CompletedWords says that the handoff is completed.
func CompletedWords(h *daemon.Handoff) string {
	if !h.HeirsFirst() {
		return fmt.Sprintf("Handoff %d is done: agent %d goes on with what agent %d (%s) did: `understudy agent attach %[2]d`.", h.ID, *h.SuccessorID, h.AgentID, h.Persona)
	}
	heirs := make([]string, 0, len(h.Heirs))
	for i := range h.Heirs {
		heirs = append(heirs, HeirWords(&h.Heirs[i]))
	}
	stays := ""
	if h.Keep {
		stays = ", which stays"
	}
	return fmt.Sprintf("Handoff %d is done: %s got what agent %d (%s) did%s: `understudy handoff show %[1]d`.", h.ID, strings.Join(heirs, ", "), h.AgentID, h.Persona, stays)
}

// MissingWords lists the headings of what the handoff lacks of what its successors' roles require; "": nothing that is known.
func MissingWords(h *daemon.Handoff) string {
	titles := make([]string, len(h.Missing))
	for i, name := range h.Missing {
		titles[i] = data.HeadingTitle(name)
	}
	return strings.Join(titles, ", ")
}

// StartedWords says to the person at the pane that the handoff has begun.
func StartedWords(h *daemon.Handoff) string {
	return fmt.Sprintf("Handoff %d started: the document is generated from this session, then a successor takes over. `understudy handoff cancel %[1]d` cancels it.", h.ID)
}

// CommandWords says to the person at the pane of a handoff's agent how the handoff goes on; "": there is nothing to say yet.
func CommandWords(h *daemon.Handoff, a *daemon.Agent) string {
	switch {
	case h.Phase == daemon.Failed:
		return fmt.Sprintf("Handoff %d failed: %s", h.ID, words.TrimDot(h.Error.Words())) + "."
	case h.Phase == daemon.Cancelled:
		return fmt.Sprintf("Handoff %d was cancelled: this session goes on.", h.ID)
	case h.Phase == daemon.Completed:
		return CompletedWords(h)
	case h.RecordedAt != nil:
		return fmt.Sprintf("Handoff %d: the document is recorded. This session ends now, and its successor takes over in the daemon's tmux: `understudy agent attach %s`.",
			h.ID, h.TargetAgent)
	case a.LastPrompt > 0 && a.StateAt.After(h.CreatedAt) && a.State == daemon.Working, daemon.AwaitedTasks(a, daemon.BackgroundWarn) > 0:
		return fmt.Sprintf("Handoff %d waits for the end of this session's work, then its document is generated. `understudy handoff cancel %[1]d` cancels it.", h.ID)
	}
	return ""
}

// EndWords says in one line of a terminal how the handoff has ended, with what to do first; "": it has not ended.
func EndWords(h *daemon.Handoff) string {
	switch {
	case h.Phase == daemon.Completed && h.SuccessorID != nil:
		return fmt.Sprintf("Handoff %d is done, agent %d goes on: understudy agent attach %[2]d", h.ID, *h.SuccessorID)
	case h.Phase == daemon.Failed:
		return fmt.Sprintf("Handoff %d has failed (%s): understudy handoff show %[1]d", h.ID, h.Error.Code)
	}
	return ""
}

// HeirWords names the heir for people.
func HeirWords(h *daemon.HandoffHeir) string {
	if h.AgentID == nil {
		return h.Persona
	}
	return fmt.Sprintf("%s (agent %d)", h.Persona, *h.AgentID)
}
