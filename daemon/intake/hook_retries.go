package intake

import (
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

// retryStarted applies a RetryStarted. It counts only while a turn runs: a report that comes late is about a turn that has ended.
func (h *hookStep) retryStarted() {
	a := h.tx.Agent
	if a.State != daemon.Working {
		return
	}
	code, text := runtimes.ReadTrouble(h.p.Error, h.p.LastAssistantMessage, "")
	now := daemon.Trouble{Code: code, Message: words.Clip(words.Line(text), daemon.MaxTrouble), Since: h.retriesSince(), Retrying: true}
	was := a.Trouble
	a.RetryTurn(now)
	if was == nil || was.Code != code {
		h.event(event.AgentTrouble, map[string]any{"code": code, "since": a.Trouble.Since, "agent_name": a.Name, "reported": now.Message, "message": views.TroubleWords(a)}, a)
	}
}

// retriesSince returns when the first of the refused requests was sent: not before the turn, and not after the report.
func (h *hookStep) retriesSince() time.Time {
	since := h.in.At
	if told := time.UnixMilli(h.p.Since).UTC(); h.p.Since > 0 && told.Before(since) {
		since = told
	}
	if began := h.tx.Agent.StateAt; since.Before(began) {
		since = began
	}
	return since
}

// retryEnded applies a RetryEnded: the API answers again, so the trouble is over. If the daemon is already ending the turn, all
// stays as it is until the turn's end: the runtime may have been interrupted by now.
func (h *hookStep) retryEnded() {
	a := h.tx.Agent
	if a.Trouble == nil || !a.Trouble.Retrying || a.Ending() {
		return
	}
	if e := h.EndTrouble(a, "retry"); e != nil {
		h.out.Change.Events = append(h.out.Change.Events, e)
	}
	a.PassLimit()
}
