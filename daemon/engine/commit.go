package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/feed"
	"github.com/understudyd/understudy/daemon/lane"
)

// Commit completes the events of a change, commits it, and wakes the lanes that it concerns.
func (d *Engine) Commit(ctx context.Context, c *daemon.Change) error {
	if err := d.tellDropped(ctx, c); err != nil {
		return err
	}
	now := d.Now()
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
	d.Counts.committed(c)
	d.wakeFor(c)
	return nil
}

// wakeFor wakes the lanes that a committed change concerns.
func (d *Engine) wakeFor(c *daemon.Change) {
	agents := c.Agents
	if c.NewAgent != nil {
		agents = append([]*daemon.Agent{c.NewAgent}, agents...)
	}
	for _, a := range agents {
		d.Wake(a.ID)
		d.WakeKin(a)
	}
	for _, p := range c.Pipelines() {
		d.Lanes.Wake(lane.Key{Kind: PipelineLane, ID: p.ID})
		d.Lanes.Wake(SweepLane) // there may be room for another pipeline now
	}
	trees := c.Worktrees
	if c.NewWorktree != nil {
		trees = append([]*daemon.Worktree{c.NewWorktree}, trees...)
	}
	for _, t := range trees {
		d.Lanes.Wake(lane.Key{Kind: TreeLane, ID: t.ID})
		if t.PipelineID != nil {
			d.Lanes.Wake(lane.Key{Kind: PipelineLane, ID: *t.PipelineID})
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
func (d *Engine) EventsChanged() {
	d.Hub.Poke()
	for _, p := range d.Parts {
		if p.Logged != nil {
			p.Logged()
		}
	}
}

// Events reads the event log.
func (d *Engine) Events(ctx context.Context, f event.Filter) ([]event.Event, error) {
	return d.Store.Events(ctx, f)
}

// LastEventID returns the id of the newest event; 0, if there is none.
func (d *Engine) LastEventID(ctx context.Context) (int64, error) { return d.Store.LastEventID(ctx) }

// Subscribe returns a channel of new events, and a function that ends the subscription. The daemon closes the channel when
// its reader falls behind, and when the daemon ends. A reader that comes back reads from the event log what it missed.
func (d *Engine) Subscribe() (<-chan *feed.Published, func()) { return d.Hub.Subscribe() }

// ErrUnchanged says that there is nothing to commit.
var ErrUnchanged = errors.New("nothing to change")

// WakeKin wakes the lanes that may wait for a change of the agent: the lane of its predecessor, whose handoff may wait for
// the agent, and the lane of its pipeline.
func (d *Engine) WakeKin(a *daemon.Agent) {
	if a.PreviousAgentID != nil {
		d.Wake(*a.PreviousAgentID)
	}
	if a.PipelineID != nil {
		d.Lanes.Wake(lane.Key{Kind: PipelineLane, ID: *a.PipelineID})
	}
}

// tellDropped notes in c.dropped the deliveries that a change drops, and adds an alert for each message and command among them. The change
// writes the row of such a delivery, which guards it: if somebody has cancelled it meanwhile, the commit gets ErrMoved. tellDropped does nothing
// if an earlier try has added the alerts.
func (d *Engine) tellDropped(ctx context.Context, c *daemon.Change) error {
	if c.DropQueued == 0 || c.Dropped != nil {
		return nil
	}
	open, err := d.Store.OpenDeliveries(ctx, c.DropQueued)
	if err != nil {
		return err
	}
	c.Dropped = []*daemon.Delivery{}
	for i := range open {
		dl := &open[i]
		if dl.State != daemon.DeliveryQueued || c.SpareMessages && dl.Kind == daemon.KindMessage || c.Takes(dl) {
			continue
		}
		if dl.Kind != daemon.KindMessage && dl.Kind != daemon.KindCommand {
			c.Dropped = append(c.Dropped, dl)
			continue
		}
		e := d.DroppedEvent(dl, c.DropEvidence)
		isStep := func(a *daemon.Agent) bool { return a.IsStepPrompt(dl) }
		e.Alert = (!c.DropAsked || dl.Kind == daemon.KindCommand) && !slices.ContainsFunc(c.Agents, isStep)
		dl.DecideBy(daemon.NotSubmitted, c.DropEvidence, d.Now())
		c.Deliveries, c.Events = append(c.Deliveries, dl), append(c.Events, e)
	}
	return nil
}

// DroppedEvent makes the alert of a queued message that its agent will not get.
func (d *Engine) DroppedEvent(dl *daemon.Delivery, why daemon.EvidenceCode) *event.Event {
	e := d.Event(event.DeliveryNotSubmitted, &dl.AgentID, nil, map[string]any{"delivery_id": dl.ID, "kind": dl.Kind, "evidence": why.Words(),
		"message": fmt.Sprintf("A %s for agent %d was not given to it: %s; if it still matters, send it with `understudy agent send` to the agent that goes on with the work.", dl.Kind, dl.AgentID, why.Words())})
	e.Alert = true
	return e
}
