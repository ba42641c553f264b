package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// openDeliveries returns the open deliveries of an agent, without messages that wait for somebody to retry its failed handoff.
func (w *world) openDeliveries(a *daemon.Agent) ([]daemon.Delivery, error) {
	open, err := w.lent.OpenDeliveries(context.Background(), a.ID)
	_, handoffs := w.rows()
	failed := slices.ContainsFunc(handoffs, func(h daemon.Handoff) bool {
		return h.AgentID == a.ID && h.Phase == daemon.Failed && h.RecordedAt != nil && !h.Keep && !h.DropMessages
	})
	if failed && !a.Active() {
		open = slices.DeleteFunc(open, isMessage)
	}
	return open, err
}

// isMessage reports whether a delivery is a message that waits in its queue.
func isMessage(d daemon.Delivery) bool {
	return d.Kind == daemon.KindMessage && d.State == daemon.DeliveryQueued
}

// checkPassed: the move that completes a handoff leaves no message in the queue of an agent that goes.
func (w *world) checkPassed(h *daemon.Handoff) {
	if h.Keep || h.DropMessages {
		return
	}
	open, err := w.lent.OpenDeliveries(context.Background(), h.AgentID)
	a, err2 := w.lent.Agent(context.Background(), h.AgentID)
	if err != nil || err2 != nil {
		w.fail("%v, %v", err, err2)
		return
	}
	for i := range open {
		d := &open[i]
		if isMessage(*d) && (a.StepID == nil || a.FirstPromptID == nil || *a.FirstPromptID != d.ID) {
			w.fail("handoff %d is completed, but message %d still waits for agent %d", h.ID, d.ID, h.AgentID)
		}
	}
}

// checkEarly: no message is typed to an agent before its handoff has completed.
func (w *world) checkEarly(d *daemon.Delivery) {
	if d.Kind != daemon.KindMessage || d.State != daemon.DeliveryTyping {
		return
	}
	_, handoffs := w.rows()
	for i := range handoffs {
		h := &handoffs[i]
		switch {
		case d.PassedFrom == nil || !slices.Contains(h.SuccessorIDs(), d.AgentID):
		case h.Phase != daemon.Completed:
			w.fail("message %d is about to be typed to agent %d, whose handoff %d is %s", d.ID, d.AgentID, h.ID, h.Phase)
		default:
			w.plan.count("message passed on")
		}
		if h.AgentID == d.AgentID && h.Open() && h.RecordedAt != nil && !h.Keep && !h.DropMessages && isPassable(w, d) {
			w.fail("message %d is about to be typed to agent %d, whose handoff %d is recorded", d.ID, d.AgentID, h.ID)
		}
	}
}

// isPassable reports whether a message is not the prompt of a step.
func isPassable(w *world, d *daemon.Delivery) bool {
	a, err := w.lent.Agent(context.Background(), d.AgentID)
	return err == nil && (a.StepID == nil || a.FirstPromptID == nil || *a.FirstPromptID != d.ID)
}

// checkDropped: a message was dropped because of a handoff only if that was asked for.
func (w *world) checkDropped(agents []daemon.Agent, handoffs []daemon.Handoff) {
	for i := range agents {
		a := &agents[i]
		list, err := w.lent.Deliveries(context.Background(), a.ID, 0, 500)
		if err != nil {
			w.fail("%v", err)
		}
		asked := slices.ContainsFunc(handoffs, func(h daemon.Handoff) bool { return h.AgentID == a.ID && h.DropMessages })
		for j := range list {
			d := &list[j]
			if d.Kind == daemon.KindMessage && d.AgentID == a.ID && d.Evidence == "the agent's handoff was recorded" && !asked && isPassable(w, d) {
				w.fail("message %d was dropped at the record of a handoff of agent %d", d.ID, a.ID)
			}
		}
	}
}

// writeMeanwhile sends messages to an agent while it hands over, and now and then cancels what is queued for it.
func (p *person) writeMeanwhile(id int64) {
	for range p.w.rng.IntN(3) {
		p.wait("thinks of something", 0, 20*time.Second)
		p.send(id)
	}
	if p.w.rng.IntN(6) != 0 {
		return
	}
	_ = p.ask(p.anyHost(), fmt.Sprintf("cancel the messages of agent %d", id), func(ctx context.Context, d *daemon.Daemon) error {
		list, err := d.CancelMessages(ctx, id, 0, p.name)
		if len(list) > 0 {
			p.w.plan.count("message cancelled")
		}
		return err
	})
}
