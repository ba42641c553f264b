package daemon

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
)

// The keys of lanes: an agent's is its id, a pipeline's is its id with a minus.
const (
	sweepLane int64 = 0             // looks for agents and pipelines with something to do
	spoolLane int64 = math.MinInt64 // applies spooled hooks, which may take long
)

// laneSubject names what a lane works for.
func laneSubject(key int64) string {
	switch {
	case key == sweepLane:
		return "sweep"
	case key == spoolLane:
		return "spool"
	case key < 0:
		return fmt.Sprintf("pipeline %d", -key)
	}
	return fmt.Sprintf("agent %d", key)
}

// maxMoves ends a lane's turn that writes over and over; it comes back at once, after the others.
const maxMoves = 50

// runLane does what is due in a lane, until nothing is. Errors of the sweep and the spool come again with the next sweep.
func (d *Daemon) runLane(ctx context.Context, key int64) (again time.Duration) {
	ctx = WithCaller(ctx, laneSubject(key))
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
		case errors.Is(err, ErrNotFound):
			d.clearLaneErrors(key)
			return 0
		case err != nil:
			d.Log.Warn("work stopped; trying again", "for", laneSubject(key), "error", err)
			d.countLaneError(ctx, key, err)
			return time.Second
		case !moved:
			d.clearLaneErrors(key)
			return again
		}
	}
	return time.Millisecond
}

// workOn does the first thing that is due for the agent or the pipeline of a lane.
func (d *Daemon) workOn(ctx context.Context, key int64) (moved bool, again time.Duration, err error) {
	if key < 0 {
		return d.workPipeline(ctx, -key)
	}
	return d.work(ctx, key)
}

// work looks at one agent's rows and does the first of its [duties] that is due. moved: a row was written, and the lane
// looks again, at the first duty. again is when a duty may be due without a wake; 0: not before one.
//
// The order matters:
//
//  1. Make the pane of an agent that has none. Such an agent has no process, screen or registry to look at.
//  2. Commit the end of an agent whose process is gone. The duties after this one read its pane, type into it, or signal
//     the process.
//  3. Correct the state by the registry and by the screen. The duties after this one decide by the state.
//  4. Take an agent that was asked to stop one rung further. Then 5 and 6 are not due. Its handoff comes later, for it waits
//     for this end; and so do the deliveries, for the rung that types the exit command drops the queued ones.
//  5. Measure the use of the context. The handoff of a full agent is asked for by what was measured.
//  6. Tell the operator of an agent that has not registered in time. A dialog that is open (3) gives it more time.
//  7. Move the handoff. It comes before the deliveries, for it queues some of them, and withdraws those that are too late.
//  8. Type the next delivery. The agent's state is known (3), and neither its end nor its handoff has anything to do.
//  9. Forget an agent that has ended. Nothing else is due for it by now, so that no duty remembers it anew.
func (d *Daemon) work(ctx context.Context, id int64) (moved bool, again time.Duration, err error) {
	a, err := d.Store.Agent(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound), err == nil && a.Host != d.Host:
		d.endFork(id)
		d.memories.forget(id)
		return false, 0, err
	case err != nil:
		return false, 0, err
	case a.Active():
		d.watch(ctx, &a)
	}
	for _, duty := range duties {
		if !duty.when(&a) {
			continue
		}
		moved, soon, err := duty.do(d, ctx, &a)
		if moved || err != nil {
			return moved, 0, err
		}
		again = shorterWait(again, soon)
	}
	return false, again, nil
}

// duties are what may be due for an agent, in the order that [Daemon.work] explains.
var duties = []struct {
	when func(a *Agent) bool
	do   func(d *Daemon, ctx context.Context, a *Agent) (moved bool, again time.Duration, err error)
}{
	{(*Agent).launching, (*Daemon).launch},
	{(*Agent).started, (*Daemon).reapGone},
	{(*Agent).started, (*Daemon).correctState},
	{(*Agent).stopping, (*Daemon).stopLadder},
	{(*Agent).staying, (*Daemon).measure},
	{(*Agent).staying, (*Daemon).tellOverdue},
	{always, (*Daemon).handOver},
	{always, (*Daemon).deliverNext},
	{(*Agent).ended, (*Daemon).forgetEnded},
}

func always(*Agent) bool        { return true }
func (a *Agent) started() bool  { return a.Active() && !a.launching() }
func (a *Agent) stopping() bool { return a.started() && a.StopAskedAt != nil }
func (a *Agent) staying() bool  { return a.started() && a.StopAskedAt == nil }
func (a *Agent) ended() bool    { return !a.Active() }

// reapGone commits the end of an agent whose process is gone.
func (d *Daemon) reapGone(ctx context.Context, a *Agent) (bool, time.Duration, error) {
	if d.running(ctx, a) {
		return false, 0, nil
	}
	return true, 0, d.reap(ctx, a)
}

// correctState brings an agent's state up to what the registry and, before the session begins, the screen say.
func (d *Daemon) correctState(ctx context.Context, a *Agent) (bool, time.Duration, error) {
	by := "registry"
	if !d.reconcile(a) {
		if by = "screen"; !d.correctByPane(a) {
			return false, 0, nil
		}
	}
	e := d.stateEvent(a, map[string]any{by: a.State})
	return true, 0, d.commit(ctx, &Change{Agents: []*Agent{a}, Events: []*event.Event{e}})
}

// handOver moves the open handoff of an agent. If it has none, it asks for one when the agent's context is nearly full. A
// fork for which no handoff waits is ended.
func (d *Daemon) handOver(ctx context.Context, a *Agent) (bool, time.Duration, error) {
	h, open, err := d.openHandoff(ctx, a.ID)
	if err != nil {
		return false, 0, err
	}
	if !open || h.Phase != Generating {
		d.endFork(a.ID)
	}
	switch {
	case open:
		return d.advance(ctx, a, &h)
	case a.Active() && !(a.StepID != nil && a.turnOver()): // a step that is over has nothing to hand over
		return d.handOverFull(ctx, a)
	}
	return false, 0, nil
}

// deliverNext does what is due for the delivery that is typed next.
func (d *Daemon) deliverNext(ctx context.Context, a *Agent) (bool, time.Duration, error) {
	open, err := d.Store.OpenDeliveries(ctx, a.ID)
	if err != nil || len(open) == 0 {
		return false, 0, err
	}
	dl, err := d.nextDelivery(ctx, a, open)
	if err != nil || dl == nil {
		return false, time.Second, err
	}
	return d.deliver(ctx, a, dl)
}

func (d *Daemon) forgetEnded(_ context.Context, a *Agent) (bool, time.Duration, error) {
	d.memories.forget(a.ID)
	return false, 0, nil
}

// nextDelivery picks what is typed next: the oldest, but for a successor that is still being
// handed the work, to which nobody speaks before it has its injection prompt.
func (d *Daemon) nextDelivery(ctx context.Context, a *Agent, open []Delivery) (*Delivery, error) {
	if a.PreviousAgentID == nil || !a.Active() {
		return &open[0], nil
	}
	list, err := d.Store.Handoffs(ctx, HandoffFilter{SuccessorID: a.ID, Open: true, Limit: 1})
	if err != nil || len(list) == 0 {
		return &open[0], err
	}
	for i := range open {
		if open[i].Kind == KindPrompt || open[i].Kind == KindExit {
			return &open[i], nil
		}
	}
	return nil, nil
}

// stuckAfter is how many times in a row an agent's work may fail before the operator is told. It
// is tried about once a second.
const stuckAfter = 10

// countLaneError counts an error of a lane, and tells the operator once when they don't end.
func (d *Daemon) countLaneError(ctx context.Context, key int64, cause error) {
	d.mu.Lock()
	d.laneErrors[key]++
	n := d.laneErrors[key]
	d.mu.Unlock()
	if n != stuckAfter {
		return
	}
	e := d.event(event.AgentStuck, &key, nil, map[string]any{"message": fmt.Sprintf(
		"Nothing goes on for %s: %s. It is tried again each second; see `understudy doctor`.", laneSubject(key), words.TrimDot(cause.Error()))})
	if key < 0 {
		id := -key
		e.Type, e.AgentID, e.PipelineID = event.PipelineStuck, nil, &id
	}
	e.Alert = true
	if err := d.commit(ctx, &Change{Events: []*event.Event{e}}); err != nil && ctx.Err() == nil {
		d.Log.Warn("event not stored; trying again", "type", e.Type, "error", err)
		d.mu.Lock()
		d.laneErrors[key]-- // the next error tells it
		d.mu.Unlock()
	}
}

func (d *Daemon) clearLaneErrors(key int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.laneErrors, key)
}

// shorterWait returns the shorter wait; 0 is none.
func shorterWait(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
