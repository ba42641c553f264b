package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// TestMessagesAreCancelled: what is queued is cancelled, one by one or all of it, and the log says from where. What is being
// typed, what the daemon sends itself, and what is not there is not.
func TestMessagesAreCancelled(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	a, other := h.agent(away), h.agent(away)
	one, two := value(h.client.SendMessage(ctx, a.ID, "one", false))(t), value(h.client.SendMessage(ctx, a.ID, "two", false))(t)
	value(h.client.SendMessage(ctx, a.ID, "/compact", true))(t)
	now := time.Now()
	add := func(change func(*daemon.Delivery)) *daemon.Delivery {
		d := &daemon.Delivery{ID: value(h.store.NextID(ctx, daemon.DeliveryIDs))(t), AgentID: a.ID, Kind: daemon.KindMessage, Text: "x", State: daemon.DeliveryQueued, CreatedAt: now}
		change(d)
		h.commit(&daemon.Change{NewDeliveries: []*daemon.Delivery{d}})
		return d
	}
	typing := add(func(d *daemon.Delivery) { d.State, d.TypedAt = daemon.DeliveryTyping, &now })
	skill := add(func(d *daemon.Delivery) { d.Kind = daemon.KindSkill })
	passed := add(func(d *daemon.Delivery) { d.AgentID, d.PassedFrom = other.ID, &a.ID })

	got := value(h.client.CancelMessages(ctx, a.ID, two.ID))(t)[0]
	if got.Verdict == nil || *got.Verdict != daemon.NotSubmitted || got.Evidence != "cancelled by the operator" {
		t.Errorf("cancelled: %+v", got)
	}
	if got := value(h.client.CancelMessages(ctx, a.ID, passed.ID))(t)[0]; got.AgentID != other.ID || got.Open() {
		t.Errorf("passed on, cancelled: %+v", got)
	}
	for _, c := range []struct {
		agent, id int64
		kind      daemon.Kind
		code      string
		words     string
	}{
		{a.ID, two.ID, daemon.KindConflict, "message_taken", "it is not_submitted (cancelled by the operator)"},
		{a.ID, typing.ID, daemon.KindConflict, "message_taken", "it is being typed"},
		{a.ID, skill.ID, daemon.KindConflict, "not_a_message", "is no message but skill of the daemon"},
		{other.ID, one.ID, daemon.KindNotFound, "message_not_found", "has no delivery"},
		{a.ID, 9999, daemon.KindNotFound, "message_not_found", "has no delivery 9999"},
		{9999, one.ID, daemon.KindNotFound, "agent_not_found", "Agent not found"},
	} {
		_, err := h.client.CancelMessages(ctx, c.agent, c.id)
		wantError(t, err, c.kind, c.code, "")
		wantErr(t, fmt.Sprintf("cancel of %d", c.id), err, c.words)
	}
	if rest := value(h.client.CancelMessages(ctx, a.ID, 0))(t); len(rest) != 2 || rest[0].ID != one.ID || rest[1].Kind != daemon.KindCommand {
		t.Errorf("cancelled: %+v", rest)
	}
	equal(t, "cancelled again", len(value(h.client.CancelMessages(ctx, a.ID, 0))(t)), 0)
	refused(h.client.CancelMessages(ctx, 9999, 0))(t, daemon.KindNotFound, "agent_not_found", "")
	told := value(h.client.Audit(ctx, daemon.AuditFilter{Types: []string{string(event.DeliveryCancelled)}}))(t)
	if len(told) != 4 || !strings.Contains(told[0].Words(), "was cancelled (command), by process ") || told[0].Alert {
		t.Errorf("events: %+v", told)
	}
}
