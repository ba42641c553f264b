package deliveries

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// The messages that are queued for an agent are about its work. So from the record of its handoff on they wait, and the
// transaction that completes the handoff passes them on to the successor. Until then they stand in the queue of the outgoing
// agent, also if that has ended and the handoff failed: whichever successor is briefed in the end gets them, once and in order.
// So do the messages of an agent that died: whoever opens its session again gets them. Commands are about the session that ends,
// so they are dropped.

// messagesWait is how long the messages of an agent that has ended wait for somebody to retry its failed handoff, or to resume it.
// Then the operator is told that nobody got them. The time during which no daemon runs counts as well: a daemon that is started each
// morning would otherwise never tell.
const messagesWait = 7 * 24 * time.Hour

// DropQueued has a change drop the queued texts of an agent that is asked to stop. Messages that wait for its successor stay.
func (d *Queue) DropQueued(ctx context.Context, c *daemon.Change, agentID int64, why daemon.EvidenceCode) error {
	h, open, err := d.OpenHandoff(ctx, agentID)
	c.Drop(agentID, why, open && Passes(&h))
	return err
}

// MessagesOf returns the queued messages of an agent that a successor can get, the oldest first.
func (d *Queue) MessagesOf(ctx context.Context, a *daemon.Agent) ([]daemon.Delivery, error) {
	open, err := d.Store.OpenDeliveries(ctx, a.ID)
	return slices.DeleteFunc(open, func(dl daemon.Delivery) bool { return !passable(a, &dl) }), err
}

// PassMessages adds to a change that the queued messages of an agent go to another one. handoff is nil if the other one opens
// the agent's session again.
func (d *Queue) PassMessages(ctx context.Context, c *daemon.Change, a *daemon.Agent, to int64, handoff *int64) error {
	queued, err := d.MessagesOf(ctx, a)
	if err != nil {
		return fmt.Errorf("agent %d: messages: %w", a.ID, err)
	}
	for i := range queued {
		dl := &queued[i]
		if dl.PassedFrom == nil {
			dl.PassedFrom = &a.ID
		}
		dl.AgentID, dl.Evidence = to, fmt.Sprintf("passed on from agent %d", a.ID)
		c.Deliveries = append(c.Deliveries, dl)
		c.Events = append(c.Events, d.Event(event.DeliveryPassedOn, &a.ID, handoff,
			map[string]any{"delivery_id": dl.ID, "kind": dl.Kind, "to_agent_id": to}))
	}
	return nil
}

// WithoutWaiting leaves out of an agent's open deliveries the messages that wait for its successor.
func (d *Queue) WithoutWaiting(ctx context.Context, a *daemon.Agent, open []daemon.Delivery) ([]daemon.Delivery, error) {
	waits := func(dl daemon.Delivery) bool { return passable(a, &dl) }
	if !slices.ContainsFunc(open, waits) {
		return open, nil
	}
	if a.LeavesWork() && a.EndedAt != nil && d.Now().Sub(*a.EndedAt) < messagesWait && a.HasSession() && !d.FileGone(a) {
		return slices.DeleteFunc(open, waits), nil
	}
	list, err := d.Store.Handoffs(ctx, daemon.HandoffFilter{AgentID: a.ID, Limit: 500})
	if err != nil {
		return nil, err
	}
	for i := range list {
		h := &list[i]
		failed := h.Phase == daemon.Failed && !a.Active() && h.CompletedAt != nil && d.Now().Sub(*h.CompletedAt) < messagesWait
		if Passes(h) && (h.Open() || failed) {
			return slices.DeleteFunc(open, waits), nil
		}
	}
	return open, nil
}
