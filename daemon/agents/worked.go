package agents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/tmux"
)

// handoffRecord names the record of a handoff; a retry may make another one.
type handoffRecord struct{ handoff, at int64 } // at is in microseconds, as the store keeps it

func recordOf(h *daemon.Handoff) handoffRecord { return handoffRecord{h.ID, h.RecordedAt.UnixMicro()} }

// GivenWork reports whether an agent was given work that the document of its recorded handoff may not mention: a
// prompt of a person, or a message, after the instruction.
//
// Such a prompt may have begun a turn, with a hook of its own. If it was queued while the document was written, it
// became part of that turn, before the document or after it; or it began a turn that no hook reports. Only the
// transcript shows a queued prompt.
//
// A hook that waits in the spool may tell of it as well, so those are applied first. If that changes the agent, the error is ErrMoved.
func (d *Supervisor) GivenWork(ctx context.Context, h *daemon.Handoff, a *daemon.Agent) (bool, error) {
	if told, err := d.ReplayFor(ctx, a); err != nil {
		return false, err
	} else if told {
		return false, fmt.Errorf("agent %d: hooks were spooled: %w", a.ID, daemon.ErrMoved)
	}
	if a.LastPrompt > h.StopHook || d.memories.Of(a.ID).exitRefused == recordOf(h) {
		return true, nil
	}
	// Count only prompts after since: the document covers all that was said before it was read. It was read before the
	// assembly of the record, which took DurationMS.
	since, nonce := h.RecordedAt.Add(-time.Duration((h.Metrics.DurationMS+1)*float64(time.Millisecond))), ""
	switch {
	case h.Mode != daemon.ModeAgent && h.ForkedAt != nil: // even if the agent itself was asked before the fork
		since = *h.ForkedAt
	case h.DeliveryID != nil:
		dl, err := d.Store.Delivery(ctx, *h.DeliveryID)
		if err != nil {
			return false, fmt.Errorf("delivery %d: %w", *h.DeliveryID, err)
		}
		if dl.TypedAt == nil {
			break
		}
		since, nonce = *dl.TypedAt, h.Ref
		if a.LastPromptAt != nil && d.Facts().CameAfter(a.LastPrompt, *a.LastPromptAt, &dl) {
			return true, nil
		}
	}
	return d.PromptedAfter(a, nonce, since), nil
}

// AwaitsVerdict reports whether a text was typed to an agent, or given to it in answer to a Stop, and has no verdict yet.
func (d *Supervisor) AwaitsVerdict(ctx context.Context, agentID int64) (bool, error) {
	open, err := d.Store.OpenDeliveries(ctx, agentID)
	return slices.ContainsFunc(open, func(dl daemon.Delivery) bool { return dl.Kind != daemon.KindExit && dl.State != daemon.DeliveryQueued }), err
}

// yieldToWork withdraws a handoff's request to exit if the agent was given work that the document may not mention, or is
// busy before /exit was typed. The handoff then waits for a person.
func (d *Supervisor) yieldToWork(ctx context.Context, a *daemon.Agent) (bool, error) {
	if !a.StopYields || a.StopStage == daemon.StopKill || a.StopStage == daemon.StopFailed {
		return false, nil
	}
	h, ok, err := d.OpenHandoff(ctx, a.ID)
	if err != nil || !ok || h.Phase != daemon.ShuttingDown {
		return false, err
	}
	given, err := d.GivenWork(ctx, &h, a)
	if err != nil {
		return false, err
	}
	// After /exit was typed, a busy agent was not given work: it may be working on its end.
	if !given && (a.StopStage != daemon.StopNone || a.AtRest()) {
		return false, nil
	}
	return true, d.withdrawExit(ctx, a)
}

// exitRefused withdraws a handoff's request to exit, because the agent's server knows of work that no report has told of yet, as when
// the daemon cannot follow the server. To climb on would end that work. The handoff waits for a person.
func (d *Supervisor) exitRefused(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	h, ok, err := d.OpenHandoff(ctx, a.ID)
	if err != nil || !ok || h.Phase != daemon.ShuttingDown {
		return false, time.Second, err
	}
	d.memories.Change(a.ID, func(m *supervisorMemory) { m.exitRefused = recordOf(&h) })
	return true, 0, d.withdrawExit(ctx, a)
}

// withdrawExit withdraws the request that an agent exits. The agent then goes on.
func (d *Supervisor) withdrawExit(ctx context.Context, a *daemon.Agent) error {
	open, err := d.Store.OpenDeliveries(ctx, a.ID)
	if err != nil {
		return err
	}
	d.takeExitBack(ctx, a, open)
	a.WithdrawStop()
	c := daemon.Change{Agents: []*daemon.Agent{a}, Events: []*event.Event{d.Event(event.AgentStopWithdrawn, &a.ID, nil, map[string]any{})}}
	for i := range open {
		if dl := &open[i]; dl.Kind == daemon.KindExit {
			dl.Decide(daemon.NotSubmitted, "the agent was given work, so its exit was withdrawn", d.Now())
			c.Deliveries = append(c.Deliveries, dl)
		}
	}
	if err := d.Commit(ctx, &c); err != nil {
		return fmt.Errorf("agent %d: exit withdrawn: %w", a.ID, err)
	}
	d.memories.Change(a.ID, func(m *supervisorMemory) { m.actedRung = daemon.StopNone })
	return nil
}

// takeExitBack removes the exit command from the composer if nothing else stands there, because the next text would be
// joined to it. It also leaves the dialog that the command has opened: the agent's own dialogs wait behind it. It does so before the commit,
// because a later request types the command again.
func (d *Supervisor) takeExitBack(ctx context.Context, a *daemon.Agent, open []daemon.Delivery) {
	d.TakeBack(a, deliveries.InboxExit)
	typed := slices.ContainsFunc(open, func(dl daemon.Delivery) bool { return dl.Kind == daemon.KindExit })
	term, err := d.TerminalOf(a)
	if !typed || err != nil {
		return
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(deliveries.ShownWithin); ; { // the command may have been pasted a moment ago
		s, err := d.ReadScreen(ctx, a)
		key, sight := tmux.CtrlU, s.Sight()
		selected, asks := exitChoice(d.RuntimeOf(a), s)
		if asks {
			key, sight.Row = tmux.Escape, selected.Row
		}
		stands := s.Composer && strings.TrimSpace(s.Draft) == d.RuntimeOf(a).Can.ExitText
		if err == nil && (stands || asks) && d.InFront(a) {
			if err = term.Press(ctx, a.Ref(), sight, key); err == nil {
				return
			}
		}
		if err != nil && !errors.Is(err, tmux.ErrChanged) {
			d.Log.Warn("exit command not taken back", "agent_id", a.ID, "error", err)
			return
		}
		if time.Now().After(until) || !lane.Ticked(ctx, tick.C) {
			return
		}
	}
}
