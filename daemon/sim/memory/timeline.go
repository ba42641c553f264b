package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// sampleRows adds the samples of agents' contexts. It keeps one of several samples of one moment.
func (t *tx) sampleRows() error {
	for _, s := range t.c.Samples {
		s = kept(s)
		if t.agents.get(s.AgentID) == nil {
			return violation("context_samples_agent_id_fkey")
		}
		var rows []daemon.ContextSample
		if was := t.samples.get(s.AgentID); was != nil {
			rows = *was
		}
		i, found := slices.BinarySearchFunc(rows, s.At, func(s daemon.ContextSample, at time.Time) int { return s.At.Compare(at) })
		if !found {
			rows = slices.Insert(slices.Clone(rows), i, s)
			write(t, &t.samples, s.AgentID, &rows)
		}
	}
	return nil
}

// AgentLives lists the agents that lived between q.Since and q.Until, the newest first.
func (s *Store) AgentLives(ctx context.Context, q daemon.LifeQuery) ([]daemon.AgentLife, error) {
	leave, err := s.enter(ctx, "agents' lives")
	if err != nil {
		return nil, err
	}
	defer leave()
	out := []daemon.AgentLife{}
	for id, a := range s.agents.all() {
		if len(q.IDs) > 0 && !slices.Contains(q.IDs, id) || !a.CreatedAt.Before(micros(q.Until)) ||
			a.EndedAt != nil && a.EndedAt.Before(micros(q.Since)) {
			continue
		}
		out = append(out, clone(daemon.AgentLife{ID: id, Name: a.Name, Persona: a.PersonaSlug(), Generation: a.Generation, PreviousAgentID: a.PreviousAgentID,
			State: a.State, StateAt: a.StateAt, CreatedAt: a.CreatedAt, EndedAt: a.EndedAt}))
	}
	slices.Reverse(out)
	return out[:min(len(out), limitOr(q.Limit, 100))], nil
}

// StateChanges returns the changes of agents' states in a span of time, and of each agent the last one before.
func (s *Store) StateChanges(ctx context.Context, q daemon.SpanQuery) ([]daemon.StateChange, error) {
	leave, err := s.enter(ctx, "states of agents")
	if err != nil {
		return nil, err
	}
	defer leave()
	by := map[int64][]daemon.StateChange{}
	for _, e := range s.events.all() {
		if state := stateOf(e.Type); state != "" && e.AgentID != nil {
			by[*e.AgentID] = append(by[*e.AgentID], daemon.StateChange{AgentID: *e.AgentID, State: state, At: e.At})
		}
	}
	out := []daemon.StateChange{}
	for _, id := range slices.Sorted(slices.Values(q.AgentIDs)) {
		slices.SortStableFunc(by[id], func(a, b daemon.StateChange) int { return a.At.Compare(b.At) })
		out = append(out, within(by[id], q, func(c *daemon.StateChange) time.Time { return c.At })...)
	}
	return out, nil
}

// stateOf returns the state that an agent has reached with an event; "": none.
func stateOf(t event.Type) daemon.AgentState {
	state, _ := strings.CutPrefix(string(t), "agent_")
	switch {
	case t == event.AgentCreated:
		return daemon.Starting
	case t.About("agent") && slices.Contains([]daemon.AgentState{
		daemon.Starting, daemon.Idle, daemon.Working, daemon.Waiting, daemon.Limited, daemon.Ended}, daemon.AgentState(state)):
		return daemon.AgentState(state)
	}
	return ""
}

// ContextSamples returns samples of how full agents' context windows were in a span of time, and of each agent the last one
// before.
func (s *Store) ContextSamples(ctx context.Context, q daemon.SpanQuery) ([]daemon.ContextSample, error) {
	leave, err := s.enter(ctx, "samples of contexts")
	if err != nil {
		return nil, err
	}
	defer leave()
	out := []daemon.ContextSample{}
	for _, id := range slices.Sorted(slices.Values(q.AgentIDs)) {
		if rows := s.samples.get(id); rows != nil {
			for _, sample := range within(*rows, q, func(s *daemon.ContextSample) time.Time { return s.At }) {
				out = append(out, clone(sample))
			}
		}
	}
	return out, nil
}

// CompletedMetrics returns the metrics of the newest completed handoffs, without those of one of them.
func (s *Store) CompletedMetrics(ctx context.Context, except int64, limit int) ([]daemon.Metrics, error) {
	leave, err := s.enter(ctx, "metrics of handoffs")
	if err != nil {
		return nil, err
	}
	defer leave()
	out := []daemon.Metrics{}
	for id, h := range s.handoffs.all() {
		if h.Phase == daemon.Completed && id != except {
			out = append(out, clone(h.Metrics))
		}
	}
	slices.Reverse(out)
	return out[:min(len(out), limitOr(limit, 100))], nil
}

// within returns, of rows in the order of their times, the last one before a span, and the newest in it.
func within[T any](rows []T, q daemon.SpanQuery, at func(*T) time.Time) []T {
	place := func(t time.Time) int {
		i, _ := slices.BinarySearchFunc(rows, micros(t), func(row T, t time.Time) int { return cmp.Or(at(&row).Compare(t), 1) })
		return i
	}
	from, to := place(q.Since), place(q.Until)
	first := max(from, to-limitOr(q.Each, 500))
	var out []T
	if from > 0 {
		out = append(out, rows[from-1])
	}
	return append(out, rows[min(first, to):to]...)
}

// PruneSamples deletes some samples that are too old, the oldest first.
func (s *Store) PruneSamples(ctx context.Context, l daemon.PruneLimits) (done daemon.Pruned, err error) {
	leave, err := s.enter(ctx, "old samples")
	if err != nil {
		return done, err
	}
	defer leave()
	if l.Before.IsZero() {
		return done, nil
	}
	var old []daemon.ContextSample
	for _, rows := range s.samples.all() {
		for _, sample := range *rows {
			if sample.At.Before(micros(l.Before)) {
				old = append(old, sample)
			}
		}
	}
	slices.SortStableFunc(old, func(a, b daemon.ContextSample) int { return a.At.Compare(b.At) })
	for _, sample := range old[:min(len(old), limitOr(l.Max, pruneBatch))] {
		rows := *s.samples.get(sample.AgentID)
		rest := rows[1:] // of each agent the oldest goes first
		s.samples.put(sample.AgentID, &rest)
		done = withOne(done, sample.At)
	}
	return done, nil
}
