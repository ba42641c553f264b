package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// Commit carries out the whole change, or nothing of it.
func (s *rowStore) Commit(ctx context.Context, c *daemon.Change) error {
	leave, err := s.enter(ctx, "commit")
	if err != nil {
		return err
	}
	defer leave()
	t := s.begin(c)
	if err := t.end(inOrder(t.rows, t.appendEvents)); err != nil {
		return named(err)
	}
	return nil
}

// rows writes everything but the events.
func (t *tx) rows() error {
	return inOrder(t.admit, t.newWorktree, t.oldAgents, t.newAgent, t.newHandoff, t.move, t.record, t.deliveryRows, t.permissionRows, t.worktreeRows, t.pipelineRows, t.sources, t.sampleRows)
}

func (t *tx) oldAgents() error {
	for _, a := range sortedBy(t.c.Agents, func(a *daemon.Agent) int64 { return a.ID }) {
		row := t.agents.get(a.ID)
		if row == nil || row.Rev != a.Rev {
			t.refuse(fmt.Errorf("agent %d: %w", a.ID, daemon.ErrMoved))
			continue
		}
		next := *a
		next.Rev++
		if err := t.putAgent(&next); err != nil {
			return err
		}
		t.done = append(t.done, func() { a.Rev = next.Rev })
	}
	return nil
}

func (t *tx) newAgent() error {
	if t.c.NewAgent == nil {
		return nil
	}
	if t.agents.get(t.c.NewAgent.ID) != nil {
		return violation("agents_pkey")
	}
	return t.putAgent(t.c.NewAgent)
}

func (t *tx) newHandoff() error {
	h := t.c.NewHandoff
	if h == nil {
		return nil
	}
	if t.handoffs.get(h.ID) != nil {
		return violation("handoffs_pkey")
	}
	t.done = append(t.done, func() { h.Status = h.Phase.Status() })
	return t.putHandoff(h)
}

func (t *tx) move() error {
	m := t.c.Move
	if m == nil {
		return nil
	}
	h := m.Handoff
	next := *h
	next.Seq++
	if row := t.handoffs.get(h.ID); row == nil || row.Phase != m.From || row.Seq != h.Seq {
		t.refuse(fmt.Errorf("handoff %d: %w", h.ID, daemon.ErrMoved))
	} else if err := t.putHandoff(&next); err != nil {
		return err
	}
	t.done = append(t.done, func() { h.Seq, h.Status = next.Seq, h.Phase.Status() })
	if m.From == h.Phase {
		return nil
	}
	return t.putTransition(daemon.Transition{HandoffID: h.ID, Seq: next.Seq, From: m.From, To: h.Phase, Cause: m.Cause, At: h.PhaseAt})
}

// deliveryRows drops the queued deliveries before it adds the new ones, so that it does not drop those as well.
func (t *tx) deliveryRows() error {
	for _, d := range sortedBy(t.c.Deliveries, func(d *daemon.Delivery) int64 { return d.ID }) {
		row := t.deliveries.get(d.ID)
		if row == nil || row.Rev != d.Rev {
			t.refuse(fmt.Errorf("delivery %d: %w", d.ID, daemon.ErrMoved))
			continue
		}
		next := *d
		next.Rev++
		if err := t.putDelivery(&next); err != nil {
			return err
		}
		t.done = append(t.done, func() { d.Rev = next.Rev })
	}
	t.dropQueued()
	for _, d := range t.c.NewDeliveries {
		if t.deliveries.get(d.ID) != nil {
			return violation("deliveries_pkey")
		}
		if err := t.putDelivery(d); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) dropQueued() {
	if t.c.DropQueued == 0 {
		return
	}
	for id, d := range t.deliveries.all() {
		if d.AgentID != t.c.DropQueued || d.State != daemon.DeliveryQueued || t.c.SpareMessages && d.Kind == daemon.KindMessage {
			continue
		}
		next := *d
		next.DecideBy(daemon.NotSubmitted, t.c.DropEvidence, t.at)
		next.Rev++
		next = kept(next)
		write(t, &t.deliveries, id, &next)
	}
}

// appendEvents appends the events to the event log, each under the next id.
func (t *tx) appendEvents() error {
	for _, e := range t.c.Events {
		t.lastEvent++
		id, at := t.lastEvent, e.At
		if at.IsZero() {
			at = t.at
		}
		row := eventRow{Event: kept(*e)}
		row.ID, row.At = id, micros(at)
		if !slices.Contains([]event.Notice{event.NoticeNone, event.NoticeWaiting, event.NoticeCompleted, event.NoticeFinished}, e.Notice) {
			return violation("events_notice_known")
		}
		write(t, &t.events, id, &row)
		t.done = append(t.done, func() { e.ID, e.At = id, at })
	}
	return nil
}

// sortedBy returns the rows in the order of their ids. In that order PostgreSQL locks them.
func sortedBy[T any](rows []*T, id func(*T) int64) []*T {
	return slices.SortedStableFunc(slices.Values(rows), func(a, b *T) int { return cmp.Compare(id(a), id(b)) })
}
