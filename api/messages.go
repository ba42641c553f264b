package api

import (
	"context"

	"github.com/understudyd/understudy/daemon"
)

type messageRequest struct {
	Text    string `json:"text"`
	Command bool   `json:"command"`
}

// send passes a text of the operator on unchanged. The domain decides whether it may be typed.
func (h agentHandlers) send(ctx context.Context, id int64, in messageRequest) (daemon.Delivery, error) {
	return h.Daemon.SendMessage(ctx, id, in.Text, in.Command)
}

// sendOwn takes a message from an agent to itself. It refuses a command, because with a command the agent could run
// a shell command or change its own mode or permissions, which it may not do.
func (h agentHandlers) sendOwn(ctx context.Context, id int64, in messageRequest) (daemon.Delivery, error) {
	if in.Command {
		return daemon.Delivery{}, errOperatorOnly
	}
	return h.send(ctx, id, in)
}

type cancelMessagesRequest struct {
	DeliveryID *int64 `json:"delivery_id,omitempty"` // absent means all that is queued
}

// cancelMessages notes where the request comes from.
func (h agentHandlers) cancelMessages(ctx context.Context, id int64, in cancelMessagesRequest) ([]daemon.Delivery, error) {
	only, err := fieldID("delivery_id", in.DeliveryID)
	if err != nil {
		return nil, err
	}
	return h.Daemon.CancelMessages(ctx, id, only, origin(ctx))
}

// place is a part of a list: at most limit rows, before one of them.
type place struct {
	before int64
	limit  int
}

func placeOf(p *params) place { return place{p.id("before"), p.limit()} }

func (h agentHandlers) messages(ctx context.Context, id int64, at place) ([]daemon.Delivery, error) {
	return h.Daemon.Deliveries(ctx, id, at.before, at.limit)
}
