package intake

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/sight"
)

// work looks at one agent's rows and does the first of its duties that is due: see [Duty]. moved says that a row was written: the
// lane then looks again, from the first duty on. again is when a duty may be due without a wake; 0: none.
func (d *Daemon) work(ctx context.Context, id int64) (moved bool, again time.Duration, err error) {
	a, err := d.Store.Agent(ctx, id)
	switch {
	case errors.Is(err, daemon.ErrNotFound), err == nil && a.Host != d.Host:
		d.EndFork(id)
		engine.Forget(d.Engine, id)
		return false, 0, err
	case err != nil:
		return false, 0, err
	case a.Active():
		d.Watch(ctx, &a)
		d.Follow(ctx, &a)
	}
	for i := range d.Duties {
		duty := &d.Duties[i]
		if !duty.When(&a) {
			continue
		}
		moved, soon, err := duty.Do(ctx, &a)
		if moved || err != nil {
			return moved, 0, err
		}
		again = engine.ShorterWait(again, soon)
	}
	return false, again, nil
}

// reapGone commits the end of an agent whose process is gone.
func (d *Daemon) reapGone(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	if d.Running(ctx, a) {
		return false, 0, nil
	}
	return true, 0, d.Reap(ctx, a)
}

// correctState changes the state of an agent to what the runtime's registry says. Before the session begins, it uses what
// the screen shows.
func (d *Daemon) correctState(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	by := "registry"
	if !d.Reconcile(a) {
		if by = "screen"; !d.CorrectByPane(a) {
			return false, 0, nil
		}
	}
	sight.NameDialog(d.Sight, ctx, a)
	e := d.Facts().StateEvent(a, map[string]any{by: a.State})
	return true, 0, d.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}, Events: []*event.Event{e}})
}

// handOver advances the open handoff of an agent. It ends a fork of the agent's session that no handoff waits for.
func (d *Daemon) handOver(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	h, open, err := d.OpenHandoff(ctx, a.ID)
	if err != nil {
		return false, 0, err
	}
	if !open || h.Phase != daemon.Generating {
		d.EndFork(a.ID)
	}
	switch {
	case open && h.StopHook > a.LastHook:
		return false, agents.RestLook, nil // that Stop was applied after the agent was read: only the next look knows whether the turn is over
	case open:
		return d.Advance(ctx, a, &h)
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
	if held, err := d.HoldsText(ctx, a, dl); err != nil || held {
		return false, time.Minute, err
	}
	return d.Deliver(ctx, a, dl)
}

func (d *Daemon) forgetEnded(_ context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	engine.Forget(d.Engine, a.ID)
	return false, 0, nil
}

// nextDelivery returns the oldest open delivery that does not wait for the agent's successor; nil: all others do. A successor
// whose handoff is open gets no text before its injection prompt, except its skill and the exit command; nil: that prompt is
// not queued yet.
func (d *Daemon) nextDelivery(ctx context.Context, a *daemon.Agent, open []daemon.Delivery) (*daemon.Delivery, error) {
	open, err := d.WithoutWaiting(ctx, a, open)
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
	if err != nil || len(list) == 0 || !handoffs.Awaits(&list[0], a.ID) {
		return &open[0], err
	}
	for i := range open {
		if open[i].Kind == daemon.KindPrompt || open[i].Kind == daemon.KindExit || open[i].Kind == daemon.KindSkill {
			return &open[i], nil
		}
	}
	return nil, nil
}

// ownDuties are those that no room has.
func ownDuties(d *Daemon) []engine.Duty {
	return []engine.Duty{
		{Name: "launch", Why: "Such an agent has no process, screen or registry to look at.", Place: engine.AtStart, When: (*daemon.Agent).Launching, Do: d.Launch},
		{Name: "keepAccount", Why: "The process of a person's session may end at any moment, and its secrets with it.", Place: engine.AtStart, When: sight.HasSecrets, Do: doneBy(d.Sight, sight.KeepAccount)},
		{Name: "followSession", Why: "A session that was moved into the background has another process, whose end and registry entry count from then on.", Place: engine.AtProcess, When: (*daemon.Agent).Started, Do: d.FollowSession},
		{Name: "reapGone", Why: "All that follows reads the pane of a process, types into it, or signals it.", Place: engine.AtProcess, When: (*daemon.Agent).Started, Do: d.reapGone},
		{Name: "readTail", Why: "What the transcript tells and no hook reports may end a turn.", Place: engine.AtState, When: (*daemon.Agent).Started, Do: d.ReadTail},
		{Name: "endTurnAtRest", Why: "A turn is over when nothing goes on behind its Stop.", Place: engine.AtState, When: agents.EndsTurn, Do: doneBy(d.Supervisor, agents.EndTurnAtRest)},
		{Name: "correctState", Why: "The registry and the screen know what no hook has told.", Place: engine.AtState, When: (*daemon.Agent).Started, Do: d.correctState},
		{Name: "noteHead", Why: "What follows shows the branch that is checked out.", Place: engine.AtState, When: (*daemon.Agent).Started, Do: d.NoteHead},
		{Name: "stopLadder", Why: "The handoff comes later, because it waits for the agent's end; so do the deliveries, because the rung that types the exit command drops the queued ones.", Place: engine.AtStop, When: (*daemon.Agent).Stopping, Do: d.StopLadder},
		{Name: "seeReading", Why: "Whether a successor has read its handoff counts after all that may end a turn, and for an agent that has ended, too.", Place: engine.AtRest, When: (*daemon.Agent).NotesReading, Do: d.SeeReading},
		{Name: "keepBase", Why: "How the agent found its directory is recorded before it changes it.", Place: engine.AtRest, When: (*daemon.Agent).NotStopping, Do: d.KeepBase},
		{Name: "noticeQuiet", Why: "The turn of a CLI that tells nothing ends with a quiet screen.", Place: engine.AtRest, When: (*daemon.Agent).NotStopping, Do: d.NoticeQuiet},
		{Name: "giveSkill", Why: "The skill of a CLI that takes it as a prompt only comes before any other text.", Place: engine.AtRest, When: (*daemon.Agent).NotStopping, Do: d.GiveSkill},
		{Name: "tellOverdue", Why: "An open dialog gives an agent more time to register.", Place: engine.AtRest, When: (*daemon.Agent).NotStopping, Do: d.TellOverdue},
		{Name: "handOver", Why: "It queues deliveries, and withdraws those that are too late.", Place: engine.InFlow, When: always, Do: d.handOver},
		{Name: "deliverNext", Why: "The state is known, and neither the agent's end nor its handoff has anything to do.", Place: engine.InFlow, When: always, Do: d.deliverNext},
		{Name: "sayWhoGoesOn", Why: "A person's pane says who goes on with the work that was done there.", Place: engine.InFlow, When: (*daemon.Agent).Started, Do: d.SayWhoGoesOn},
		{Name: "forgetEnded", Why: "An earlier duty may remember the agent anew.", Place: engine.ToForget, When: (*daemon.Agent).Ended, Do: d.forgetEnded},
	}
}

// doneBy makes a duty from a function of a floor.
func doneBy[F any](floor F, do func(F, context.Context, *daemon.Agent) (bool, time.Duration, error)) func(context.Context, *daemon.Agent) (bool, time.Duration, error) {
	return func(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) { return do(floor, ctx, a) }
}

func always(*daemon.Agent) bool { return true }
