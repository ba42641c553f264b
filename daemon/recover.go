package daemon

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/understudyd/understudy/daemon/presence"
)

// sweepEvery is how often the rows themselves are asked what is due. Wakes are only a hint; this
// is the truth.
const sweepEvery = presence.ProveEvery

// takeUp wakes every agent and every run that has not ended, as the rows of an earlier daemon left them.
func (d *Daemon) takeUp(ctx context.Context) {
	agents, err := d.Store.ActiveAgents(ctx, d.Host)
	if err != nil {
		d.Log.Warn("agents not taken up yet; the sweep will", "error", err)
		return
	}
	for _, a := range agents {
		d.Wake(a.ID)
	}
	if err := d.wakePipelines(ctx); err != nil {
		d.Log.Warn("pipelines not taken up yet; the sweep will", "error", err)
	}
	d.removeDeadPanes(ctx)
}

// wakePipelines wakes the runs that may have something to do.
func (d *Daemon) wakePipelines(ctx context.Context) error {
	ids, err := d.Store.OpenPipelines(ctx, d.Host)
	if err != nil {
		return fmt.Errorf("open pipelines: %w", err)
	}
	for _, id := range ids {
		d.Wake(-id)
	}
	return nil
}

// removeDeadPanes removes what an earlier daemon had no time to: dead panes on our server whose
// agents have ended.
func (d *Daemon) removeDeadPanes(ctx context.Context) {
	term, err := d.ownTerminal()
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
		a.setPane(&p)
		if a.SuccessorID != nil {
			if next, err := d.Store.Agent(ctx, *a.SuccessorID); err == nil && next.Active() && next.HasPane() {
				d.passOn(ctx, &a, &next)
				continue
			}
		}
		d.cleanUp(ctx, &a)
	}
}

// runSweep wakes the sweep's lane each second until ctx ends.
func (d *Daemon) runSweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	d.Wake(sweepLane)
	for ticked(ctx, tick.C) {
		d.Wake(sweepLane)
	}
}

// sweep wakes the agents that have something to do, and those whose runtime's registry or process
// tells something that no hook told. Idle agents cost two looks at their process and a file's read
// each.
func (d *Daemon) sweep(ctx context.Context) error {
	if empty, err := d.spool.Empty(); err != nil || !empty {
		d.Wake(spoolLane)
	}
	if err := d.wakePipelines(ctx); err != nil {
		return err
	}
	ids, err := d.Store.OpenAgents(ctx, d.Host)
	if err != nil {
		return fmt.Errorf("open agents: %w", err)
	}
	remembered := d.memories.ids(func(agentMemory) bool { return true }) // before the roster is read: who is new is in that
	busy := map[int64]bool{}
	for _, id := range append(ids, d.forkedAgents()...) {
		busy[id] = true
		d.Wake(id)
	}
	agents, err := d.roster.agents(ctx)
	if err != nil {
		return err
	}
	d.peekAtStarting(ctx, agents)
	active := map[int64]bool{}
	for i := range agents {
		a := &agents[i]
		active[a.ID] = true
		if busy[a.ID] {
			continue
		}
		if a.PID != 0 && !d.lives(a.Process()) || d.reconcile(a) || a.PID == 0 {
			d.Wake(a.ID)
		}
	}
	for _, id := range remembered {
		if !active[id] && !busy[id] {
			d.Wake(id) // something was remembered after its end: its lane forgets that
		}
	}
	return nil
}

// ticked waits for a tick and reports whether ctx goes on: of a tick and the end of ctx, which may be there both,
// the end counts.
func ticked(ctx context.Context, tick <-chan time.Time) bool {
	select {
	case <-tick:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
