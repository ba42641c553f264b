package intake

import (
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

// stopFailed applies a StopFailure: the runtime has ended a turn with an error.
func (h *hookStep) stopFailed() {
	if h.p.AgentID != "" {
		return // the turn of a sub-agent or of a compaction failed; the agent's own turn goes on, and reports its own end
	}
	a := h.tx.Agent
	h.confirmHeard()
	code, text := runtimes.ReadTrouble(h.p.Error, h.p.LastAssistantMessage, h.p.ErrorDetails)
	now := daemon.Trouble{Code: code, Message: words.Clip(words.Line(text), daemon.MaxTrouble), Since: h.in.At}
	was, hint := a.Trouble, views.TroubleHint(a)
	a.FailTurn(now)
	h.hitLimit(code)
	hf := h.tx.Handoff
	handing := hf != nil && hf.AwaitsStop()
	if handing {
		hf.FailTurn(a.TurnError)
		h.touchHandoff()
	}
	if was == nil || was.Code != code {
		h.event(event.AgentTrouble, map[string]any{"code": code, "since": a.Trouble.Since, "agent_name": a.Name, "reported": now.Message, "message": views.TroubleWords(a)}, a)
		// Notify again only if the trouble asks a person for something else. A handoff or a pipeline fails because of the
		// trouble, and reports that itself. The decision about a limit is a notice of its own.
		if a.State != daemon.Limited && views.TroubleHint(a) != hint && !handing && a.PipelineID == nil {
			e := h.out.Change.Events[len(h.out.Change.Events)-1]
			e.Notice, e.Cause = event.NoticeWaiting, event.CauseTrouble+code
		}
	}
}
