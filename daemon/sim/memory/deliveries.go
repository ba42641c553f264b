package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

var (
	deliveryKinds = []daemon.DeliveryKind{
		daemon.KindMessage, daemon.KindCommand, daemon.KindInstruction, daemon.KindSkill, daemon.KindPrompt, daemon.KindExit, daemon.KindGoOn,
	}
	deliveryStates = []daemon.DeliveryState{
		daemon.DeliveryQueued, daemon.DeliveryTyping, daemon.DeliveryTyped, daemon.DeliveryAnswered, daemon.DeliveryDone,
	}
	verdicts = []daemon.Verdict{daemon.Submitted, daemon.NotSubmitted, daemon.Unconfirmed}
)

func (t *tx) putDelivery(d *daemon.Delivery) error {
	row := kept(*d)
	row.ReadOld()
	if err := check(
		"deliveries_decided", row.Open() == (row.Verdict == nil),
		"deliveries_kind_known", slices.Contains(deliveryKinds, row.Kind),
		"deliveries_state_known", slices.Contains(deliveryStates, row.State),
		"deliveries_verdict_known", row.Verdict == nil || slices.Contains(verdicts, *row.Verdict),
	); err != nil {
		return err
	}
	write(t, &t.deliveries, row.ID, &row)
	return check(
		"deliveries_agent_id_fkey", t.agents.get(row.AgentID) != nil,
		"deliveries_handoff_id_fkey", t.handoffs.has(row.HandoffID),
	)
}

// Delivery returns a delivery; [daemon.ErrNotFound] for an unknown id.
func (s *rowStore) Delivery(ctx context.Context, id int64) (daemon.Delivery, error) {
	return one(ctx, &s.view, &s.deliveries, id, "delivery %d", nil)
}

// Deliveries lists an agent's deliveries, and those that it has passed on, the newest first; 100 if limit is 0.
func (s *rowStore) Deliveries(ctx context.Context, agentID, before int64, limit int) ([]daemon.Delivery, error) {
	leave, err := s.enter(ctx, "deliveries of agent %d", agentID)
	if err != nil {
		return nil, err
	}
	defer leave()
	return collect(&s.view, s.deliveries.newest(), limitOr(limit, 100), func(d *daemon.Delivery) bool {
		return (d.AgentID == agentID || d.PassedFrom != nil && *d.PassedFrom == agentID) && (before == 0 || d.ID < before)
	}), nil
}

// OpenDeliveries lists an agent's deliveries that have no verdict, the oldest first.
func (s *rowStore) OpenDeliveries(ctx context.Context, agentID int64) ([]daemon.Delivery, error) {
	leave, err := s.enter(ctx, "open deliveries of agent %d", agentID)
	if err != nil {
		return nil, err
	}
	defer leave()
	return s.openDeliveries(agentID), nil
}

func (s *rowStore) openDeliveries(agentID int64) []daemon.Delivery {
	return collect(&s.view, s.deliveries.all(), -1, func(d *daemon.Delivery) bool { return d.AgentID == agentID && d.Open() })
}

// Sent counts the messages that an agent sent to other agents, as far back as the event log goes. Only the log has
// the sender of a delivery.
func (s *rowStore) Sent(ctx context.Context, agentID int64, since time.Time) (sent daemon.Sent, err error) {
	leave, err := s.enter(ctx, "messages sent by agent %d", agentID)
	if err != nil {
		return sent, err
	}
	defer leave()
	since = micros(since)
	for _, e := range s.events.all() {
		if e.Type != event.AgentMessaged || e.AgentID == nil || *e.AgentID != agentID {
			continue
		}
		id, err := deliveryOf(&e.Event)
		if err != nil {
			return daemon.Sent{}, fmt.Errorf("messages sent by agent %d: %w", agentID, err)
		}
		if d := s.deliveries.get(id); d != nil && d.Open() {
			sent.Open++
		}
		if e.At.After(since) {
			sent.Recent++
			if sent.First == nil || e.At.Before(*sent.First) {
				at := e.At
				sent.First = &at
			}
		}
	}
	return sent, nil
}

// deliveryOf returns the id of the delivery that an event names, or 0 if it names none.
func deliveryOf(e *event.Event) (int64, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(e.Payload, &members) != nil {
		return 0, nil // the payload is not an object
	}
	id := strings.Trim(string(members["delivery_id"]), `"`)
	if id == "" || id == "null" {
		return 0, nil
	}
	return strconv.ParseInt(id, 10, 64)
}
