package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

// total returns how long a handoff took.
func total(h *daemon.Handoff) time.Duration {
	return time.Duration(h.Metrics.TotalMS) * time.Millisecond
}

// TookOrDash returns how long a handoff took, for a cell. It returns a dash while the handoff is open.
func TookOrDash(h *daemon.Handoff) string {
	if h.Open() {
		return "-"
	}
	return words.Took(total(h))
}

// CountOrDash returns a count for a cell. It returns a dash for 0.
func CountOrDash(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// PassedOn says how much the context file holds.
func PassedOn(m daemon.Metrics) string {
	return fmt.Sprintf("%s, %s, %s, %s in all", words.Count(m.MessagesTransferred, "message"), words.Count(m.DecisionsTransferred, "decision"),
		words.Count(m.MemoryRefsTransferred, "file"), words.Size(m.ContextSizeBytes))
}

// DescribeHandoff prints a handoff with its warnings and its phases.
func DescribeHandoff(u *term.UI, h *daemon.Handoff, moves []daemon.Transition) {
	phase, failure, hint := words.Of(h.Phase), "", ""
	if h.Error != nil {
		phase += " in " + words.Of(h.Error.Phase)
		if h.Phase != daemon.Cancelled { // a cancel needs no explanation
			phase += " (" + string(h.Error.Code) + ")"
			failure, hint = h.Error.Message, h.Error.Hint
		}
	}
	took, used, structured, validated, degraded, passed := "", "", "", "", "", ""
	if !h.Open() {
		took = words.Took(total(h))
	}
	if h.RecordedAt != nil { // before the record these values are not known
		used, passed = views.ContextInFull(h.ContextUse), PassedOn(h.Metrics)
		structured, validated, degraded = term.YesOrNo(h.Structured != nil), validatedWords(h), term.YesOrNo(h.Degraded)
	}
	successor := ""
	if !h.HeirsFirst() {
		successor = term.Number(h.SuccessorID)
	}
	pairs := []string{
		"handoff", fmt.Sprint(h.ID), "phase", phase, "waits for", h.Note, "error", failure, "hint", hint,
		"persona", h.Persona, "generation", fmt.Sprint(h.Generation), "agent", fmt.Sprint(h.AgentID), "successor", successor,
		"reason", h.Reason, "focus", h.Focus, "mode", string(h.Mode), "written by", string(h.WrittenBy), "document", h.FilePath, "structured", structured,
		"context file", term.Text(h.ContextPath), "passed on", passed, "validated", validated, "degraded", degraded, "context used", used,
		"started", term.Stamp(&h.CreatedAt), "recorded", term.Stamp(h.RecordedAt), "ended", term.Stamp(h.CompletedAt), "total", took,
		"read", readWords(h.ReadAt, h.UnreadAt),
	}
	if h.InPlace {
		pairs = append(pairs, "in place", "the successor takes the agent's pane")
	}
	if h.Keep {
		pairs = append(pairs, "keep", "the agent lives on")
	}
	for i := range h.Heirs {
		pairs = append(pairs, "heir", heirWords(&h.Heirs[i]))
	}
	for _, w := range h.Warnings {
		pairs = append(pairs, "warning", w)
	}
	u.Fields(pairs...)
	p := NewWatcher(u)
	last := h.CreatedAt
	for _, m := range moves {
		p.phase(m, h, m.At.Sub(last))
		last = m.At
	}
}

// validatedWords says whether a handoff has what its successors' roles require, and if not, what it lacks.
func validatedWords(h *daemon.Handoff) string {
	switch {
	case h.ContextValidated:
		return "yes"
	case len(h.Missing) == 0:
		return "no, it was not checked"
	}
	return "no, it lacks " + views.MissingWords(h)
}

// readWords says when a successor read what was left for it; "": not yet, or nothing shows it.
func readWords(readAt, unreadAt *time.Time) string {
	switch {
	case readAt != nil:
		return term.Stamp(readAt)
	case unreadAt != nil:
		return "not in the successor's first turn, which had ended " + term.Stamp(unreadAt)
	}
	return ""
}

// heirWords says who an heir is, and how far it has come.
func heirWords(heir *daemon.HandoffHeir) string {
	stands := words.Of(heir.Phase)
	switch heir.Phase {
	case "":
		stands = "not started"
	case daemon.Completed:
		stands = "has its briefing"
	}
	failure := ""
	if heir.Error != nil {
		failure = heir.Error.Message
	}
	read := readWords(heir.ReadAt, heir.UnreadAt)
	if read != "" {
		read = "read " + read
	}
	return words.Join(", ", views.HeirWords(heir), stands, heir.Runtime, heir.Model, heir.PermissionMode, heir.Note, read, failure)
}

// Successors returns the ids of the agents to which a handoff passes the work on, with commas between them; "": none yet.
func Successors(h *daemon.Handoff) string {
	var ids []string
	for _, id := range h.SuccessorIDs() {
		ids = append(ids, fmt.Sprint(id))
	}
	return strings.Join(ids, ", ")
}
