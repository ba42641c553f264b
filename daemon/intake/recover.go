package intake

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/lane"
)

// takeUp wakes the lanes of all active agents, which an earlier daemon may have left in any state. The first sweep wakes those of all
// open pipelines and work trees.
func (d *Daemon) takeUp(ctx context.Context) {
	agents, err := d.Store.ActiveAgents(ctx, d.Host)
	if err != nil {
		d.Log.Warn("agents not taken up yet; the sweep will", "error", err)
		return
	}
	for _, a := range agents {
		d.Wake(a.ID)
	}
	for _, p := range d.Parts {
		if p.Start == nil {
			continue
		}
		if err := p.Start(ctx); err != nil {
			d.Log.Warn("agents that have ended were not taken up", "error", err)
		}
	}
	d.removeDeadPanes(ctx)
}

// removeDeadPanes removes the dead panes of ended agents from the daemon's own tmux server. An earlier daemon may have
// ended before it removed them.
func (d *Daemon) removeDeadPanes(ctx context.Context) {
	term, err := d.OwnTerminal()
	if err != nil {
		return
	}
	panes, err := term.List(ctx)
	if err != nil {
		return
	}
	for _, p := range panes {
		id, err := strconv.ParseInt(p.Mark, 10, 64)
		if err != nil || !p.Dead {
			continue
		}
		a, err := d.Store.Agent(ctx, id)
		if err != nil || a.Active() || a.Host != d.Host {
			continue
		}
		a.SetPane(&p)
		if a.SuccessorID != nil {
			if next, err := d.Store.Agent(ctx, *a.SuccessorID); err == nil && next.Active() && next.HasPane() {
				d.PassOn(ctx, &a, &next)
				continue
			}
		}
		d.CleanUp(ctx, &a)
	}
}

// runSweep wakes the sweep's lane at once, and then every SweepEvery until ctx ends.
func (d *Daemon) runSweep(ctx context.Context) {
	tick := time.NewTicker(engine.SweepEvery)
	defer tick.Stop()
	d.Lanes.Wake(engine.SweepLane)
	for lane.Ticked(ctx, tick.C) {
		d.Lanes.Wake(engine.SweepLane)
	}
}

// sweep wakes the lanes of pipelines and agents with something to do. It also wakes the lanes of agents whose process or
// registry shows a change that no hook has reported. For an idle agent it looks at the process twice and reads one file.
func (d *Daemon) sweep(ctx context.Context) error {
	if empty, err := d.Spool.Empty(); err != nil || !empty {
		d.Lanes.Wake(engine.SpoolLane)
	}
	open, err := d.Store.Open(ctx, d.Host)
	if err != nil {
		return fmt.Errorf("open work: %w", err)
	}
	for _, id := range open.Pipelines {
		d.Lanes.Wake(lane.Key{Kind: engine.PipelineLane, ID: id})
	}
	for _, id := range open.Trees {
		d.Lanes.Wake(lane.Key{Kind: engine.TreeLane, ID: id})
	}
	for _, p := range d.Parts {
		if p.Swept == nil {
			continue
		}
		if err := p.Swept(ctx); err != nil {
			return err
		}
	}
	remembered := append(engine.Remembered(d.Engine), handoffs.RememberedForks(d.Flow)...) // read before the roster: else a new agent looks ended
	busy := map[int64]bool{}
	for _, id := range append(open.Agents, d.ForkedAgents()...) {
		busy[id] = true
		d.Wake(id)
	}
	agents, err := d.Roster.Agents(ctx)
	if err != nil {
		return err
	}
	d.PeekAtStarting(ctx, agents)
	d.LookAtHeads(ctx, agents)
	active := map[int64]bool{}
	for i := range agents {
		a := &agents[i]
		active[a.ID] = true
		if busy[a.ID] {
			continue
		}
		if a.PID != 0 && !d.Lives(a.Process()) || d.Reconcile(a) || a.PID == 0 || d.TailGrew(a) || d.MaybeMoved(a) || d.due(a) {
			d.Wake(a.ID)
		}
	}
	for _, id := range remembered {
		if !active[id] && !busy[id] {
			d.Wake(id) // it has ended but is still remembered; its lane forgets it
		}
	}
	d.ShowLines(ctx, agents)
	return nil
}

// sweepOnce sweeps. If it fails, the next sweep tries again; until then nothing proves that the daemon was there.
func sweepOnce(ctx context.Context, d *Daemon) {
	err := d.sweep(ctx)
	if err == nil {
		d.Prove()
	} else if ctx.Err() == nil {
		d.Log.Warn("sweep incomplete; trying again", "error", err)
	}
}

// replayOnce applies the spooled hooks. If it fails, the next sweep tries again.
func replayOnce(ctx context.Context, d *Daemon) {
	if err := d.replaySpool(ctx); err != nil && ctx.Err() == nil {
		d.Log.Warn("spool not replayed; trying again", "error", err)
	}
}

// doneOnce makes the work of a lane from what is done once for each wake.
func doneOnce(d *Daemon, do func(context.Context, *Daemon)) func(context.Context, int64) (bool, time.Duration, error) {
	return func(ctx context.Context, _ int64) (bool, time.Duration, error) {
		do(ctx, d)
		return false, 0, nil
	}
}

// due reports whether something is due for an agent in a room.
func (d *Daemon) due(a *daemon.Agent) bool {
	return slices.ContainsFunc(d.Parts, func(p engine.Part) bool { return p.Due != nil && p.Due(a) })
}
