package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
)

// Some runtimes end a turn soon after the API has refused its requests. Others send the request again for a quarter of an hour,
// or without end, and the turn runs on meanwhile. Such a turn is trouble from the first refused request on, and after
// LimitSettings.APITimeout the daemon ends the turn, so that the policy decides.

// retryStarted applies a RetryStarted. It counts only while a turn runs: a report that comes late is about a turn that has ended.
func (h *hookStep) retryStarted() {
	a := h.tx.Agent
	if a.State != Working {
		return
	}
	code, text := runtimes.ReadTrouble(h.p.Error, h.p.LastAssistantMessage, "")
	now := Trouble{Code: code, Message: words.Clip(words.Line(text), maxTrouble), Since: h.retriesSince(), Retrying: true}
	was := a.Trouble
	if was != nil && (was.Retrying || runtimes.APIFails(was.Code)) {
		now.Since = was.Since
	}
	a.retryTurn(now)
	if was == nil || was.Code != code {
		h.event(event.AgentTrouble, map[string]any{"code": code, "since": now.Since, "agent_name": a.Name, "reported": now.Message, "message": a.troubleWords()}, a)
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
	if a.Trouble == nil || !a.Trouble.Retrying || a.ending() {
		return
	}
	if e := h.endTrouble(a, "retry"); e != nil {
		h.out.Change.Events = append(h.out.Change.Events, e)
	}
	a.passLimit()
}

// ending reports whether the daemon has decided to end the running turn, because the API has failed for too long.
func (a *Agent) ending() bool {
	return a.State == Working && a.Limit != nil && a.Limit.Kind == LimitAPI && a.Limit.TriedAt == nil
}

// retries reports whether a turn runs whose request the runtime sends again by itself, or that the daemon is ending for that.
func (a *Agent) retries() bool {
	return a.ending() || a.State == Working && a.Trouble != nil && a.Trouble.Retrying
}

// endRetriesAgain is how long the daemon waits for the end of a turn that it has ended before it tries that again.
const endRetriesAgain = 5 * time.Second

// endRetries ends a turn whose requests the API has refused for longer than LimitSettings.APITimeout. It commits the limit first.
// The report of the turn's end then makes the agent limited, and the policy decides. A daemon that was killed in between
// leaves the limit, and the next one ends the turn.
func (d *Daemon) endRetries(ctx context.Context, a *Agent) (bool, time.Duration, error) {
	if !a.ending() {
		since := a.Trouble.Since
		if a.Limit != nil && since.Before(a.StateAt) { // the turn tries whether the API is back
			since = a.StateAt
		}
		if left := d.timeLeft(since, d.Settings().Limits.APITimeout); left > 0 {
			return false, min(left, limitLook), nil
		}
		now := d.now()
		a.reachLimit(LimitAPI, &now, now)
		a.LimitedUntil = nil // the turn still runs
		if err := d.commit(ctx, &Change{Agents: []*Agent{a}}); err != nil {
			return false, 0, fmt.Errorf("agent %d: limit of its API: %w", a.ID, err)
		}
		return true, 0, nil
	}
	if d.turnInterrupted(ctx, a) { // another Escape could open something; the report of the end is on its way
		return false, endRetriesAgain, nil
	}
	if err := d.pressEscape(ctx, a); err != nil {
		return false, 0, fmt.Errorf("agent %d: ending the turn whose requests the API refuses: %w", a.ID, err)
	}
	return false, endRetriesAgain, nil
}
