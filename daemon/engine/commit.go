package engine

import (
	"context"
	"errors"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/feed"
	"github.com/understudyd/understudy/daemon/lane"
)

// commit completes the events of a change, commits it, and wakes the lanes that it concerns.
func (d *Daemon) commit(ctx context.Context, c *daemon.Change) error {
	if err := d.tellDropped(ctx, c); err != nil {
		return err
	}
	now := d.now()
	for _, e := range c.Events {
		if e.Host == "" {
			e.Host = d.Host
		}
		if e.At.IsZero() {
			e.At = now
		}
		c.Attribute(e)
	}
	if err := d.Store.Commit(ctx, c); err != nil {
		return err
	}
	d.counts.committed(c)
	d.wakeFor(c)
	return nil
}

// wakeFor wakes the lanes that a committed change concerns.
func (d *Daemon) wakeFor(c *daemon.Change) {
	agents := c.Agents
	if c.NewAgent != nil {
		agents = append([]*daemon.Agent{c.NewAgent}, agents...)
	}
	for _, a := range agents {
		d.Wake(a.ID)
		d.wakeKin(a)
	}
	for _, p := range c.Pipelines() {
		d.lanes.Wake(lane.Key{Kind: PipelineLane, ID: p.ID})
		d.lanes.Wake(sweepLane) // there may be room for another pipeline now
	}
	trees := c.Worktrees
	if c.NewWorktree != nil {
		trees = append([]*daemon.Worktree{c.NewWorktree}, trees...)
	}
	for _, t := range trees {
		d.lanes.Wake(lane.Key{Kind: TreeLane, ID: t.ID})
		if t.PipelineID != nil {
			d.lanes.Wake(lane.Key{Kind: PipelineLane, ID: *t.PipelineID})
		}
	}
	if c.NewHandoff != nil {
		d.Wake(c.NewHandoff.AgentID)
	}
	if c.Move != nil {
		d.Wake(c.Move.Handoff.AgentID)
	}
	for _, list := range [][]*daemon.Delivery{c.NewDeliveries, c.Deliveries} {
		for _, dl := range list {
			d.Wake(dl.AgentID)
		}
	}
	if len(c.Events) > 0 {
		d.EventsChanged()
	}
}

// EventsChanged says that the log has grown, here or on another host. It never blocks.
func (d *Daemon) EventsChanged() {
	d.hub.Poke()
	for _, p := range d.parts {
		if p.Logged != nil {
			p.Logged()
		}
	}
}

// Events reads the event log.
func (d *Daemon) Events(ctx context.Context, f event.Filter) ([]event.Event, error) {
	return d.Store.Events(ctx, f)
}

// LastEventID returns the id of the newest event; 0, if there is none.
func (d *Daemon) LastEventID(ctx context.Context) (int64, error) { return d.Store.LastEventID(ctx) }

// Subscribe returns a channel of new events, and a function that ends the subscription. The daemon closes the channel when
// its reader falls behind, and when the daemon ends. A reader that comes back reads from the event log what it missed.
func (d *Daemon) Subscribe() (<-chan *feed.Published, func()) { return d.hub.Subscribe() }

// ErrUnchanged says that there is nothing to commit.
var ErrUnchanged = errors.New("nothing to change")
