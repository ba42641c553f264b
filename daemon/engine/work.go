package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/words"
)

// The kinds of lanes. A lane of one of the first three has the id of a row.
const (
	AgentLane    = "agent"
	PipelineLane = "pipeline"
	TreeLane     = "work tree"
)

var (
	sweepLane = lane.Key{Kind: "sweep"} // wakes the lanes that have something to do
	spoolLane = lane.Key{Kind: "spool"} // applies the spooled hooks, which may take long
)

func agentLane(id int64) lane.Key { return lane.Key{Kind: AgentLane, ID: id} }

// maxMoves is how many times in a row a lane does work before it lets the other lanes go first. It then comes back after
// a millisecond.
const maxMoves = 50

// runLane does what is due in a lane until nothing is. If the sweep or the replay of the spool fails, the next sweep
// tries again.
func (d *Daemon) runLane(ctx context.Context, key lane.Key) (again time.Duration) {
	ctx = daemon.WithCaller(ctx, key.String())
	switch key {
	case sweepLane:
		err := d.sweep(ctx)
		if err != nil && ctx.Err() == nil {
			d.Log.Warn("sweep incomplete; trying again", "error", err)
		}
		if err == nil {
			d.mu.Lock()
			d.presence.Prove(d.now())
			d.mu.Unlock()
		}
		return 0
	case spoolLane:
		if err := d.replaySpool(ctx); err != nil && ctx.Err() == nil {
			d.Log.Warn("spool not replayed; trying again", "error", err)
		}
		return 0
	}
	for range maxMoves {
		moved, again, err := d.workOn(ctx, key)
		switch {
		case ctx.Err() != nil:
			return 0
		case err != nil && retryable(err):
			continue
		case errors.Is(err, daemon.ErrNotFound):
			d.clearLaneErrors(key)
			return 0
		case err != nil:
			d.Log.Warn("work stopped; trying again", "for", key.String(), "error", err)
			d.countLaneError(ctx, key, err)
			return time.Second
		case !moved:
			d.clearLaneErrors(key)
			return again
		}
	}
	return time.Millisecond
}

// workOn does the first thing that is due for the row of a lane.
func (d *Daemon) workOn(ctx context.Context, key lane.Key) (moved bool, again time.Duration, err error) {
	for _, p := range d.parts {
		for _, l := range p.Lanes {
			if l.Kind == key.Kind {
				return l.Do(ctx, key.ID)
			}
		}
	}
	return false, 0, fmt.Errorf("nobody works for %s", key)
}

// work looks at one agent's rows and does the first of its duties that is due: see [Duty]. moved says that a row was written: the
// lane then looks again, from the first duty on. again is when a duty may be due without a wake; 0: none.
func (d *Daemon) work(ctx context.Context, id int64) (moved bool, again time.Duration, err error) {
	a, err := d.Store.Agent(ctx, id)
	switch {
	case errors.Is(err, daemon.ErrNotFound), err == nil && a.Host != d.Host:
		d.endFork(id)
		d.memories.forget(id)
		return false, 0, err
	case err != nil:
		return false, 0, err
	case a.Active():
		d.watch(ctx, &a)
		d.follow(ctx, &a)
	}
	for i := range d.duties {
		duty := &d.duties[i]
		if !duty.When(&a) {
			continue
		}
		moved, soon, err := duty.Do(ctx, &a)
		if moved || err != nil {
			return moved, 0, err
		}
		again = ShorterWait(again, soon)
	}
	return false, again, nil
}

// reapGone commits the end of an agent whose process is gone.
func (d *Daemon) reapGone(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	if d.running(ctx, a) {
		return false, 0, nil
	}
	return true, 0, d.reap(ctx, a)
}

// correctState changes the state of an agent to what the runtime's registry says. Before the session begins, it uses what
// the screen shows.
func (d *Daemon) correctState(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	by := "registry"
	if !d.reconcile(a) {
		if by = "screen"; !d.correctByPane(a) {
			return false, 0, nil
		}
	}
	nameDialog(d, ctx, a)
	e := d.facts().stateEvent(a, map[string]any{by: a.State})
	return true, 0, d.commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}, Events: []*event.Event{e}})
}

// handOver advances the open handoff of an agent. If there is none and the agent's context is nearly full, it
// requests one. It ends a fork of the agent's session that no handoff waits for.
func (d *Daemon) handOver(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	h, open, err := d.openHandoff(ctx, a.ID)
	if err != nil {
		return false, 0, err
	}
	if !open || h.Phase != daemon.Generating {
		d.endFork(a.ID)
	}
	switch {
	case open && h.StopHook > a.LastHook:
		return false, restLook, nil // that Stop was applied after the agent was read: only the next look knows whether the turn is over
	case open:
		return d.advance(ctx, a, &h)
	case a.Active() && !(a.StepID != nil && a.TurnOver()): // the agent of a step that is over has nothing to hand over
		return d.handOverFull(ctx, a)
	}
	return false, 0, nil
}

// deliverNext does what is due for the agent's next delivery.
func (d *Daemon) deliverNext(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	open, err := d.Store.OpenDeliveries(ctx, a.ID)
	if err != nil || len(open) == 0 {
		return false, 0, err
	}
	dl, err := d.nextDelivery(ctx, a, open)
	switch {
	case err == nil && dl == nil && !a.Active():
		return false, time.Minute, nil // the messages wait for whoever goes on
	case err != nil || dl == nil:
		return false, time.Second, err
	}
	if held, err := d.heldByBudget(ctx, a, dl); err != nil || held {
		return false, time.Minute, err
	}
	return d.deliver(ctx, a, dl)
}

func (d *Daemon) forgetEnded(_ context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	d.memories.forget(a.ID)
	return false, 0, nil
}

// nextDelivery returns the oldest open delivery that does not wait for the agent's successor; nil: all others do. A successor
// whose handoff is open gets no text before its injection prompt, except its skill and the exit command; nil: that prompt is
// not queued yet.
func (d *Daemon) nextDelivery(ctx context.Context, a *daemon.Agent, open []daemon.Delivery) (*daemon.Delivery, error) {
	open, err := d.withoutWaiting(ctx, a, open)
	if err != nil || len(open) == 0 {
		return nil, err
	}
	if i := slices.IndexFunc(open, func(dl daemon.Delivery) bool { return dl.Kind == daemon.KindSkill }); i > 0 && open[0].State == daemon.DeliveryQueued && a.Active() {
		return &open[i], nil // the skill goes before a prompt that the agent was started with
	}
	if a.PreviousAgentID == nil || !a.Active() {
		return &open[0], nil
	}
	list, err := d.Store.Handoffs(ctx, daemon.HandoffFilter{SuccessorID: a.ID, Open: true, Limit: 1})
	if err != nil || len(list) == 0 || !list[0].Awaits(a.ID) {
		return &open[0], err
	}
	for i := range open {
		if open[i].Kind == daemon.KindPrompt || open[i].Kind == daemon.KindExit || open[i].Kind == daemon.KindSkill {
			return &open[i], nil
		}
	}
	return nil, nil
}

// stuckAfter is how many times in a row the work of a lane may fail before the operator is told. The lane tries about
// once a second.
const stuckAfter = 10

// countLaneError counts an error of a lane. At the stuckAfter-th error in a row it tells the operator.
func (d *Daemon) countLaneError(ctx context.Context, key lane.Key, cause error) {
	d.mu.Lock()
	d.laneErrors[key]++
	n := d.laneErrors[key]
	d.mu.Unlock()
	if n != stuckAfter {
		return
	}
	e := d.event(event.WorktreeStuck, nil, nil, map[string]any{"message": fmt.Sprintf(
		"Nothing goes on for %s: %s. It is tried again each second; see `understudy doctor`.", key, words.TrimDot(cause.Error()))})
	switch key.Kind {
	case AgentLane:
		e.Type, e.AgentID = event.AgentStuck, &key.ID
	case PipelineLane:
		e.Type, e.PipelineID = event.PipelineStuck, &key.ID
	}
	e.Alert = true
	if err := d.commit(ctx, &daemon.Change{Events: []*event.Event{e}}); err != nil && ctx.Err() == nil {
		d.Log.Warn("event not stored; trying again", "type", e.Type, "error", err)
		d.mu.Lock()
		d.laneErrors[key]-- // so that the next error tells the operator
		d.mu.Unlock()
	}
}

func (d *Daemon) clearLaneErrors(key lane.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.laneErrors, key)
}

// ShorterWait returns the shorter of two waits. 0 means no wait: then it returns the other one.
func ShorterWait(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
