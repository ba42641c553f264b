package handoffs

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/understudyd/understudy/daemon"
)

// failureOf returns the code for a handoff that failed because of the delivery's verdict.
func failureOf(d *daemon.Delivery) daemon.Code {
	return daemon.Code(string(d.Kind) + "_" + string(*d.Verdict))
}

// recordTakenBack reports whether a retry took back the record of the handoff: see takeRecordBack.
func recordTakenBack(h *daemon.Handoff) bool { return h.RecordedAt == nil && h.ContextChecksum != nil }

// heirOf returns the heir that an agent is; nil: it is none.
func heirOf(h *daemon.Handoff, agentID int64) *daemon.HandoffHeir {
	for i := range h.Heirs {
		if id := h.Heirs[i].AgentID; id != nil && *id == agentID {
			return &h.Heirs[i]
		}
	}
	return nil
}

// Claims reports whether the handoff is the one that its agent may have: see handoffs_one_per_agent in the schema.
func Claims(h *daemon.Handoff) bool {
	switch h.Phase {
	case daemon.Cancelled:
		return false
	case daemon.Completed:
		return !h.Keep
	case daemon.Failed:
		return h.RecordedAt != nil && (h.Error == nil || h.Error.Phase != daemon.BriefingHeirs)
	}
	return true
}

// Awaits reports whether an agent is an heir of the handoff that has not had its injection prompt yet.
func Awaits(h *daemon.Handoff, agentID int64) bool {
	heir := heirOf(h, agentID)
	return heir != nil && !heir.Over()
}

// heirRuntime returns the runtime of the handoff's first heir.
func heirRuntime(h *daemon.Handoff, a *daemon.Agent) string {
	return cmp.Or(h.Heirs[0].Runtime, a.Runtime)
}

// assembledTitle is the first line of a document that the daemon wrote. It tells such a document from others after a crash.
const assembledTitle = "# Handoff assembled by understudy"

// writerOf returns who wrote the handoff's document.
func writerOf(h *daemon.Handoff, document []byte) daemon.Writer {
	switch {
	case h.Mode == daemon.ModeGenerate:
		return daemon.WrittenByFork
	case h.Mode != daemon.ModeTranscript:
		return daemon.WrittenByAgent
	case bytes.HasPrefix(document, []byte(assembledTitle+"\n")):
		return daemon.WrittenByDaemon
	}
	return daemon.WrittenByFallback
}

// writerWarning is the warning of a document that neither the agent nor a fork of its session wrote; "": one of them did.
func writerWarning(h *daemon.Handoff, a *daemon.Agent, document []byte) string {
	switch writerOf(h, document) {
	case daemon.WrittenByFallback:
		return fmt.Sprintf("The agent could not write the document: a one-shot of %s wrote it from the transcript of the conversation.", heirRuntime(h, a))
	case daemon.WrittenByDaemon:
		return "The document was put together from the end of the conversation: neither the agent nor another one wrote it, and nobody has judged it."
	}
	return ""
}
