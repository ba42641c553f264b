package daemon

import (
	"bytes"
	"cmp"
	"fmt"
)

// AwaitsLimitHandoff reports whether the handoff that was decided about the agent's limit has still to be requested.
func (a *Agent) AwaitsLimitHandoff() bool {
	return a.State == Limited && a.Limit != nil && a.Limit.Do == LimitHandOver && a.Limit.HandoffID == nil
}

// NoteLimitHandoff notes the handoff that was requested because of a limit, and the runtime of its successor.
func (a *Agent) NoteLimitHandoff(id int64, runtime string) {
	l := *a.Limit
	l.HandoffID, l.Heir = &id, runtime
	a.Limit = &l
}

// HeirRuntime returns the runtime of the handoff's first heir.
func (h *Handoff) HeirRuntime(a *Agent) string {
	return cmp.Or(h.Heirs[0].Runtime, a.Runtime)
}

// AssembledTitle is the first line of a document that the daemon wrote. It tells such a document from others after a crash.
const AssembledTitle = "# Handoff assembled by understudy"

// Writer returns who wrote the handoff's document.
func (h *Handoff) Writer(document []byte) Writer {
	switch {
	case h.Mode == ModeGenerate:
		return WrittenByFork
	case h.Mode != ModeTranscript:
		return WrittenByAgent
	case bytes.HasPrefix(document, []byte(AssembledTitle+"\n")):
		return WrittenByDaemon
	}
	return WrittenByFallback
}

// WriterWarning is the warning of a document that neither the agent nor a fork of its session wrote; "": one of them did.
func (h *Handoff) WriterWarning(a *Agent, document []byte) string {
	switch h.Writer(document) {
	case WrittenByFallback:
		return fmt.Sprintf("The agent could not write the document: a one-shot of %s wrote it from the transcript of the conversation.", h.HeirRuntime(a))
	case WrittenByDaemon:
		return "The document was put together from the end of the conversation: neither the agent nor another one wrote it, and nobody has judged it."
	}
	return ""
}
