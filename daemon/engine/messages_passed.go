package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
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

// evidenceRecorded is the evidence of a queued text that was dropped at the record of its agent's handoff.
const evidenceRecorded = "the agent's handoff was recorded"

// clearQueue decides, at the record, what becomes of the texts that are queued for the outgoing agent.
func (r *handoffRun) clearQueue(c *daemon.Change) error {
	h, a := r.h, r.agent
	if h.Keep {
		return nil
	}
	c.DropQueued, c.DropEvidence, c.SpareMessages, c.DropAsked = a.ID, evidenceRecorded, !h.DropMessages, h.DropMessages
	if a.StepID == nil || a.FirstPromptID == nil || !c.SpareMessages {
		return nil
	}
	dl, err := r.d.Store.Delivery(r.ctx, *a.FirstPromptID)
	if err == nil && dl.State == daemon.DeliveryQueued {
		dl.Decide(daemon.NotSubmitted, evidenceRecorded, r.now)
		c.Deliveries = append(c.Deliveries, &dl)
		c.Events = append(c.Events, r.d.droppedEvent(&dl, evidenceRecorded))
	}
	return err
}

// dropQueued has a change drop the queued texts of an agent that is asked to stop. Messages that wait for its successor stay.
func (d *Daemon) dropQueued(ctx context.Context, c *daemon.Change, agentID int64, why string) error {
	h, open, err := d.openHandoff(ctx, agentID)
	c.DropQueued, c.DropEvidence, c.SpareMessages = agentID, why, open && h.Passes()
	return err
}

// complete adds to the change that completes the handoff that the queued messages of the outgoing agent are passed on. It writes
// the agent's row as well: if a message is queued for the agent at the same time, one of the two commits gets ErrMoved.
func (r *handoffRun) complete(c *daemon.Change) error {
	if !r.h.Passes() {
		return nil
	}
	to, err := r.messagesTo()
	if err != nil {
		return err
	}
	c.WriteAgent(r.agent)
	return r.d.passMessages(r.ctx, c, r.agent, to, &r.h.ID)
}

// messagesTo returns the agent that gets the queued messages: the first heir that has not ended; if all have, the first one,
// whose lane then tells the operator.
func (r *handoffRun) messagesTo() (int64, error) {
	ids := r.h.SuccessorIDs()
	for _, id := range ids {
		next, err := r.d.Store.Agent(r.ctx, id)
		if err != nil || next.Active() {
			return id, err
		}
	}
	return ids[0], nil
}

// messagesOf returns the queued messages of an agent that a successor can get, the oldest first.
func (d *Daemon) messagesOf(ctx context.Context, a *daemon.Agent) ([]daemon.Delivery, error) {
	open, err := d.Store.OpenDeliveries(ctx, a.ID)
	return slices.DeleteFunc(open, func(dl daemon.Delivery) bool { return !a.Passable(&dl) }), err
}

// passMessages adds to a change that the queued messages of an agent go to another one. handoff is nil if the other one opens
// the agent's session again.
func (d *Daemon) passMessages(ctx context.Context, c *daemon.Change, a *daemon.Agent, to int64, handoff *int64) error {
	queued, err := d.messagesOf(ctx, a)
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
		c.Events = append(c.Events, d.event(event.DeliveryPassedOn, &a.ID, handoff,
			map[string]any{"delivery_id": dl.ID, "kind": dl.Kind, "to_agent_id": to}))
	}
	return nil
}

// withoutWaiting leaves out of an agent's open deliveries the messages that wait for its successor.
func (d *Daemon) withoutWaiting(ctx context.Context, a *daemon.Agent, open []daemon.Delivery) ([]daemon.Delivery, error) {
	waits := func(dl daemon.Delivery) bool { return a.Passable(&dl) }
	if !slices.ContainsFunc(open, waits) {
		return open, nil
	}
	if a.LeavesWork() && a.EndedAt != nil && d.now().Sub(*a.EndedAt) < messagesWait && a.HasSession() && !d.fileGone(a) {
		return slices.DeleteFunc(open, waits), nil
	}
	list, err := d.Store.Handoffs(ctx, daemon.HandoffFilter{AgentID: a.ID, Limit: 500})
	if err != nil {
		return nil, err
	}
	for i := range list {
		h := &list[i]
		failed := h.Phase == daemon.Failed && !a.Active() && h.CompletedAt != nil && d.now().Sub(*h.CompletedAt) < messagesWait
		if h.Passes() && (h.Open() || failed) {
			return slices.DeleteFunc(open, waits), nil
		}
	}
	return open, nil
}

// waitingMessages says, for the end of a failure's sentences, that messages wait for the successor; "": none do.
func (r *handoffRun) waitingMessages() string {
	if !r.h.Passes() || r.agent.Active() {
		return ""
	}
	queued, err := r.d.messagesOf(r.ctx, r.agent)
	if err != nil || len(queued) == 0 {
		return ""
	}
	return fmt.Sprintf(" The successor of agent %d gets %s that it has not got: `understudy agent messages %[1]d`.", r.agent.ID, words.Count(len(queued), "message"))
}
