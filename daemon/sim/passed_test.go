package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// openDeliveries returns the open deliveries of an agent, without messages that wait for somebody to retry its failed handoff, or to
// resume it because it died.
func openDeliveries(w *world, a *daemon.Agent) ([]daemon.Delivery, error) {
	open, err := w.lent.OpenDeliveries(ctx(), a.ID)
	if a.Active() || !slices.ContainsFunc(open, isMessage) {
		return open, err
	}
	handoffs := w.handoffs()
	failed := slices.ContainsFunc(handoffs, func(h daemon.Handoff) bool {
		return h.AgentID == a.ID && h.Phase == daemon.Failed && h.RecordedAt != nil && !h.Keep && !h.DropMessages
	})
	died := a.Died() && a.PipelineID == nil && a.DismissedAt == nil && a.HasSession()
	if failed || died {
		open = slices.DeleteFunc(open, isMessage)
	}
	return open, err
}

// isMessage reports whether a delivery is a message that waits in its queue.
func isMessage(d daemon.Delivery) bool {
	return d.Kind == daemon.KindMessage && d.State == daemon.DeliveryQueued
}

// checkPassed: the move that completes a handoff leaves no message in the queue of an agent that goes.
func checkPassed(w *world, h *daemon.Handoff) {
	if h.Keep || h.DropMessages {
		return
	}
	open, err := w.lent.OpenDeliveries(ctx(), h.AgentID)
	w.ok(err)
	for d := range each(open) {
		if isMessage(*d) && isPassable(w, d) {
			w.fail("handoff %d is completed, but message %d still waits for agent %d", h.ID, d.ID, h.AgentID)
		}
	}
}

// checkHeld: a message that was passed on is taken by the agent that it was passed on to, and by no other. An operator who gets no
// answer sends the same text again, so agents take a text as often as it was sent.
func checkHeld(w *world, a *agent, d *daemon.Delivery) {
	if d.AgentID != a.id {
		w.fail("agent %d takes delivery %d, which was passed on to agent %d", a.id, d.ID, d.AgentID)
	}
	if d.PassedFrom == nil {
		return
	}
	taken, sent := 1, map[int64]bool{}
	for _, b := range w.agents {
		taken += w.takes[takeKey(b.id, token(d))]
		for other := range each(deliveries(w, b.id)) {
			if other.State != daemon.DeliveryQueued && token(other) == token(d) {
				sent[other.ID] = true
			}
		}
	}
	if taken > len(sent) {
		w.fail("agent %d takes message %d, which was passed on: its text is taken %d times and was sent %d times", a.id, d.ID, taken, len(sent))
	}
}

// checkAgain: a text that a daemon is about to type again is lost. Its agent has not taken it, nor will it: the text stands neither
// in its composer nor among the keys that it has yet to read.
func checkAgain(w *world, d, was *daemon.Delivery) {
	a := w.process(d.AgentID)
	if a == nil || was == nil || was.TypedAgain || !d.TypedAgain {
		return
	}
	w.plan.count("text typed again by " + a.cli.rt.Name + ": " + d.Evidence[:9])
	holds := func(text string) bool { return strings.Contains(text, token(d)) }
	switch {
	case slices.ContainsFunc(a.given, holds) && !sentTwice(w, a.id, d):
		w.fail("delivery %d is typed again (%s), but agent %d has taken it", d.ID, d.Evidence, a.id)
	case holds(a.composer.Text), slices.ContainsFunc(a.inputs, func(in tmuxtest.Input) bool { return holds(in.Text) }):
		w.fail("delivery %d is typed again (%s), but agent %d still has it in its composer", d.ID, d.Evidence, a.id)
	}
}

// sentTwice reports whether the text of a delivery was sent to its agent by another delivery as well.
func sentTwice(w *world, agentID int64, d *daemon.Delivery) bool {
	list := deliveries(w, agentID)
	return slices.ContainsFunc(list, func(b daemon.Delivery) bool { return b.ID != d.ID && token(&b) == token(d) })
}

// checkEarly: no message is typed to an agent before its handoff has completed.
func checkEarly(w *world, d *daemon.Delivery) {
	if d.Kind != daemon.KindMessage || d.State != daemon.DeliveryTyping {
		return
	}
	handoffs := w.handoffs()
	for h := range each(handoffs) {
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

// isPassable reports whether a message is not the prompt of a step, which may be given once more.
func isPassable(w *world, d *daemon.Delivery) bool {
	a, err := w.lent.Agent(ctx(), d.AgentID)
	if err != nil || a.StepID == nil || a.FirstPromptID == nil {
		return err == nil
	}
	first, err := w.lent.Delivery(ctx(), *a.FirstPromptID)
	return err == nil && first.Text != d.Text
}

// checkDropped: a message was dropped because of a handoff only if that was asked for, and each message that was not given to an
// agent is an alert, except those that the operator had dropped or cancelled.
func checkDropped(w *world, agents []daemon.Agent, handoffs []daemon.Handoff, events []event.Event) {
	for a := range each(agents) {
		list := deliveries(w, a.ID)
		asked := slices.ContainsFunc(handoffs, func(h daemon.Handoff) bool { return h.AgentID == a.ID && h.DropMessages })
		for d := range each(list) {
			if d.Kind == daemon.KindMessage && d.AgentID == a.ID && d.EvidenceCode == daemon.EvidenceRecorded && !asked && isPassable(w, d) {
				w.fail("message %d was dropped at the record of a handoff of agent %d", d.ID, a.ID)
			}
			told := asked || slices.ContainsFunc(events, func(e event.Event) bool {
				return (e.Type == event.DeliveryCancelled || e.Type == event.DeliveryNotSubmitted && e.Alert) && tells(&e, d.ID)
			})
			if d.Kind == daemon.KindMessage && d.AgentID == a.ID && d.Verdict != nil && *d.Verdict == daemon.NotSubmitted && !told && isPassable(w, d) {
				w.fail("message %d was not given to agent %d (%s), and no alert says so", d.ID, a.ID, d.Evidence)
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
	_ = p.ask(p.anyHost(), fmt.Sprintf("cancel the messages of agent %d", id), func(ctx context.Context, d *house.House) error {
		list, err := d.Daemon.CancelMessages(ctx, id, 0, p.name)
		if len(list) > 0 {
			p.w.plan.count("message cancelled")
		}
		return err
	})
}
