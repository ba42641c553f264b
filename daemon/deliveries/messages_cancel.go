package deliveries

import (
	"context"
	"errors"
	"fmt"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
)

// CancelMessages cancels a queued message or command of an agent, and returns it; with id 0, all of them, the oldest first.
// from says where the request comes from, for the log. What is being typed can't be cancelled: the guard of the row decides
// whether the cancellation or the intention to type was first. A message that was passed on can be cancelled as the first
// agent's as well.
func (d *Queue) CancelMessages(ctx context.Context, agentID, id int64, from string) ([]daemon.Delivery, error) {
	a, err := d.Agent(ctx, agentID)
	switch {
	case err != nil:
		return nil, err
	case id != 0:
		dl, err := d.cancelMessage(ctx, agentID, id, from)
		return []daemon.Delivery{dl}, err
	}
	open, err := d.Store.OpenDeliveries(ctx, agentID)
	if err != nil {
		return nil, err
	}
	cancelled := []daemon.Delivery{}
	for i := range open {
		if CheckCancel(&a, &open[i]) != nil {
			continue
		}
		dl, err := d.cancelMessage(ctx, agentID, open[i].ID, from)
		switch told := (*daemon.Error)(nil); {
		case err == nil:
			cancelled = append(cancelled, dl)
		case !errors.As(err, &told) || told.Code != daemon.CodeMessageTaken:
			return cancelled, err
		}
	}
	return cancelled, nil
}

// cancelMessage cancels one delivery.
func (d *Queue) cancelMessage(ctx context.Context, agentID, id int64, from string) (daemon.Delivery, error) {
	for {
		dl, err := d.tryCancel(ctx, agentID, id, from)
		if !errors.Is(err, daemon.ErrMoved) || ctx.Err() != nil {
			return dl, err
		}
	}
}

// tryCancel is one attempt of cancelMessage.
func (d *Queue) tryCancel(ctx context.Context, agentID, id int64, from string) (daemon.Delivery, error) {
	missing := daemon.Errorf(daemon.KindNotFound, daemon.CodeMessageNotFound, "Agent %d has no delivery %d", agentID, id)
	dl, err := d.Store.Delivery(ctx, id)
	switch {
	case err != nil:
		return dl, engine.NotFoundAs(err, missing)
	case dl.AgentID != agentID && (dl.PassedFrom == nil || *dl.PassedFrom != agentID):
		return dl, missing
	}
	a, err := d.Agent(ctx, dl.AgentID)
	if err != nil {
		return dl, err
	}
	if err := CheckCancel(&a, &dl); err != nil {
		return dl, err
	}
	dl.Decide(daemon.NotSubmitted, "cancelled by the operator", d.Now())
	c := &daemon.Change{Deliveries: []*daemon.Delivery{&dl}, Events: []*event.Event{d.Event(event.DeliveryCancelled, &dl.AgentID, nil,
		map[string]any{"delivery_id": dl.ID, "kind": dl.Kind, "from": from}).For(a.PipelineID, a.StepID)}}
	if err := d.Commit(ctx, c); err != nil {
		return dl, fmt.Errorf("delivery %d: cancel: %w", id, err)
	}
	return dl, nil
}
