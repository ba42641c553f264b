package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/understudyd/understudy/daemon/event"
)

// CancelMessages cancels a queued message or command of an agent, and returns it; with id 0, all of them, the oldest first.
// from says where the request comes from, for the log. What is being typed can't be cancelled: the guard of the row decides
// whether the cancellation or the intention to type was first. A message that was passed on can be cancelled as the first
// agent's as well.
func (d *Daemon) CancelMessages(ctx context.Context, agentID, id int64, from string) ([]Delivery, error) {
	a, err := d.Agent(ctx, agentID)
	switch {
	case err != nil:
		return nil, err
	case id != 0:
		dl, err := d.cancelMessage(ctx, agentID, id, from)
		return []Delivery{dl}, err
	}
	open, err := d.Store.OpenDeliveries(ctx, agentID)
	if err != nil {
		return nil, err
	}
	cancelled := []Delivery{}
	for i := range open {
		if checkCancel(&a, &open[i]) != nil {
			continue
		}
		dl, err := d.cancelMessage(ctx, agentID, open[i].ID, from)
		switch told := (*Error)(nil); {
		case err == nil:
			cancelled = append(cancelled, dl)
		case !errors.As(err, &told) || told.Code != CodeMessageTaken:
			return cancelled, err
		}
	}
	return cancelled, nil
}

// cancelMessage cancels one delivery.
func (d *Daemon) cancelMessage(ctx context.Context, agentID, id int64, from string) (Delivery, error) {
	for {
		dl, err := d.tryCancel(ctx, agentID, id, from)
		if !errors.Is(err, ErrMoved) || ctx.Err() != nil {
			return dl, err
		}
	}
}

// tryCancel is one attempt of cancelMessage.
func (d *Daemon) tryCancel(ctx context.Context, agentID, id int64, from string) (Delivery, error) {
	missing := Errorf(KindNotFound, CodeMessageNotFound, "Agent %d has no delivery %d", agentID, id)
	dl, err := d.Store.Delivery(ctx, id)
	switch {
	case err != nil:
		return dl, NotFoundAs(err, missing)
	case dl.AgentID != agentID && (dl.PassedFrom == nil || *dl.PassedFrom != agentID):
		return dl, missing
	}
	a, err := d.Agent(ctx, dl.AgentID)
	if err != nil {
		return dl, err
	}
	if err := checkCancel(&a, &dl); err != nil {
		return dl, err
	}
	dl.decide(NotSubmitted, "cancelled by the operator", d.now())
	c := &Change{Deliveries: []*Delivery{&dl}, Events: []*event.Event{d.event(event.DeliveryCancelled, &dl.AgentID, nil,
		map[string]any{"delivery_id": dl.ID, "kind": dl.Kind, "from": from}).For(a.PipelineID, a.StepID)}}
	if err := d.commit(ctx, c); err != nil {
		return dl, fmt.Errorf("delivery %d: cancel: %w", id, err)
	}
	return dl, nil
}

// Cancellable reports whether the operator can cancel a delivery to the agent now.
func (a *Agent) Cancellable(dl *Delivery) bool { return checkCancel(a, dl) == nil }

// checkCancel refuses to cancel a text that is not the operator's to cancel, or that has left the queue.
func checkCancel(a *Agent, dl *Delivery) error {
	switch {
	case dl.Kind != KindMessage && dl.Kind != KindCommand:
		return Errorf(KindConflict, CodeNotAMessage, "Delivery %d is no message but %s of the daemon: it cannot be cancelled", dl.ID, dl.Kind)
	case a.StepID != nil && a.startedWith(dl):
		return Errorf(KindConflict, CodeNotAMessage, "Delivery %d is the prompt of a step: abort it with `understudy pipeline abort %d`", dl.ID, *a.PipelineID)
	case dl.Verdict != nil:
		return Errorf(KindConflict, CodeMessageTaken, "Delivery %d can no longer be cancelled: it is %s (%s)", dl.ID, *dl.Verdict, dl.Evidence)
	case dl.State != DeliveryQueued:
		return Errorf(KindConflict, CodeMessageTaken, "Delivery %d can no longer be cancelled: it is being typed", dl.ID)
	}
	return nil
}
