package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// PruneHistory deletes some pipelines that ended before a time, the oldest first, with everything that belongs to
// them. If there are none, it deletes agents in the same way.
func (s *Store) PruneHistory(ctx context.Context, before time.Time, most int) (done daemon.PrunedHistory, err error) {
	leave, err := s.enter(ctx, "history")
	if err != nil {
		return done, err
	}
	defer leave()
	before = micros(before)
	if pipelines := s.oldPipelines(before); len(pipelines) > 0 {
		pipelines = pipelines[:min(len(pipelines), limitOr(most, pruneBatch))]
		for _, id := range pipelines {
			s.deletePipeline(id)
		}
		done.Pipelines = int64(len(pipelines))
		return done, nil
	}
	agents := s.oldAgents(before)
	agents = agents[:min(len(agents), limitOr(most, pruneBatch))]
	for _, r := range s.records.all() {
		goes := func(id int64) bool { h := s.handoffs.get(r.HandoffID); return h.AgentID == id || leadsTo(h, id) }
		if slices.Contains(agents, r.AgentID) && !slices.ContainsFunc(agents, goes) {
			return done, fmt.Errorf("history: %w", violation("records_agent_id_fkey"))
		}
	}
	for _, id := range agents {
		done.Handoffs += s.deleteAgent(id)
	}
	done.Agents = int64(len(agents))
	return done, nil
}

// oldPipelines returns the pipelines that may be deleted: they and all their agents ended before that time.
func (s *Store) oldPipelines(before time.Time) (ids []int64) {
	needed := map[int64]bool{}
	for _, a := range s.agents.all() {
		if a.PipelineID != nil && (a.Active() || !a.EndedAt.Before(before)) {
			needed[*a.PipelineID] = true
		}
	}
	for id, p := range s.pipelines.all() {
		if !p.Open() && p.FinishedAt != nil && p.FinishedAt.Before(before) && !needed[id] {
			ids = append(ids, id)
		}
	}
	slices.SortStableFunc(ids, func(a, b int64) int { return s.pipelines.get(a).FinishedAt.Compare(*s.pipelines.get(b).FinishedAt) })
	return ids
}

func (s *Store) deletePipeline(id int64) {
	for agentID, a := range s.agents.snapshot() {
		if a.PipelineID != nil && *a.PipelineID == id {
			next := *a
			next.PipelineID, next.StepID = nil, nil
			next.Rev++
			s.agents.put(agentID, &next)
		}
	}
	for treeID, t := range s.worktrees.snapshot() {
		if t.PipelineID != nil && *t.PipelineID == id {
			next := *t
			next.PipelineID = nil
			next.Rev++
			s.worktrees.put(treeID, &next)
		}
	}
	for stepID, step := range s.steps.snapshot() {
		if step.PipelineID != id {
			continue
		}
		for outputID, o := range s.outputs.snapshot() {
			if o.StepID == stepID {
				s.outputs.put(outputID, nil)
				s.stepRecords.put(outputID, nil)
			}
		}
		s.steps.put(stepID, nil)
	}
	s.pipelines.put(id, nil)
}

// oldAgents returns the agents that may be deleted: each is the last of its line and ended before that time, its
// predecessor is not active, and nothing that stays names it.
func (s *Store) oldAgents(before time.Time) (ids []int64) {
	needed := map[int64]bool{}
	for _, a := range s.agents.all() {
		if a.PreviousAgentID != nil {
			needed[*a.PreviousAgentID] = true
		}
	}
	for _, o := range s.outputs.all() {
		needed[o.AgentID] = true
	}
	for _, d := range s.deliveries.all() {
		needed[d.AgentID] = needed[d.AgentID] || d.Open()
	}
	for _, h := range s.handoffs.all() {
		needed[h.AgentID] = needed[h.AgentID] || h.Open()
		if h.SuccessorID != nil && h.Open() {
			needed[*h.SuccessorID] = true
		}
		for _, successor := range h.SuccessorIDs() {
			needed[successor] = needed[successor] || h.Open()
		}
	}
	for id, a := range s.agents.all() {
		old := !a.Active() && a.EndedAt.Before(before) && a.PipelineID == nil && !needed[id]
		if old && a.PreviousAgentID != nil {
			old = !s.agents.get(*a.PreviousAgentID).Active()
		}
		if old {
			ids = append(ids, id)
		}
	}
	slices.SortStableFunc(ids, func(a, b int64) int {
		return cmp.Or(s.agents.get(a).EndedAt.Compare(*s.agents.get(b).EndedAt), cmp.Compare(a, b))
	})
	return ids
}

// deleteAgent deletes an agent with everything that belongs to it, and returns how many handoffs that were.
func (s *Store) deleteAgent(id int64) (handoffs int64) {
	gone := map[int64]bool{}
	for handoffID, h := range s.handoffs.snapshot() {
		if h.AgentID == id || leadsTo(h, id) {
			gone[handoffID] = true
			s.transitions.put(handoffID, nil)
			s.records.put(handoffID, nil)
			s.handoffs.put(handoffID, nil)
		}
	}
	for deliveryID, d := range s.deliveries.snapshot() {
		if d.AgentID == id || d.HandoffID != nil && gone[*d.HandoffID] {
			s.deliveries.put(deliveryID, nil)
		}
	}
	for permissionID, p := range s.permissions.snapshot() {
		if p.AgentID == id {
			s.permissions.put(permissionID, nil)
		}
	}
	for hookID, h := range s.hooks.snapshot() {
		if h.result.AgentID == id {
			delete(s.hookKeys, h.key)
			s.hooks.put(hookID, nil)
		}
	}
	s.usage.forget(id)
	s.samples.put(id, nil)
	s.agents.put(id, nil)
	return int64(len(gone))
}

// WouldPrune counts what pruning would delete. It prunes a copy of the store.
func (s *Store) WouldPrune(ctx context.Context, l daemon.PruneLimits, history time.Time) (out daemon.PruneReport, err error) {
	leave, err := s.enter(ctx, "prune, forecast")
	if err != nil {
		return out, err
	}
	keys := maps.Clone(s.hookKeys)
	copied := &Store{rowStore{view{tables: &tables{Clock: s.Clock, // the rows are shared: a write replaces a row and never changes it
		sequences: s.sequences, lastEvent: s.lastEvent, lastHook: s.lastHook, prunedTo: s.prunedTo,
		agents: s.agents.copied(), handoffs: s.handoffs.copied(), transitions: s.transitions.copied(), records: s.records.copied(),
		deliveries: s.deliveries.copied(), permissions: s.permissions.copied(), pipelines: s.pipelines.copied(), steps: s.steps.copied(), outputs: s.outputs.copied(), stepRecords: s.stepRecords.copied(),
		usage: newUsage(), samples: s.samples.copied(), hooks: s.hooks.copied(), hookKeys: keys, events: s.events.copied(),
	}}}}
	leave()
	for more := !history.IsZero(); more; {
		some, err := copied.PruneHistory(ctx, history, len(copied.agents.rows)+len(copied.pipelines.rows))
		if err != nil {
			return out, err
		}
		out.Agents, out.Handoffs, out.Pipelines = out.Agents+some.Agents, out.Handoffs+some.Handoffs, out.Pipelines+some.Pipelines
		more = some != (daemon.PrunedHistory{})
	}
	for _, one := range []struct {
		counted *int64
		prune   func(context.Context, daemon.PruneLimits) (daemon.Pruned, error)
	}{{&out.Events, copied.PruneEvents}, {&out.Hooks, copied.PruneHooks}} {
		for more := true; more; {
			some, err := one.prune(ctx, l)
			if err != nil {
				return out, err
			}
			*one.counted += some.Rows
			more = some.Rows > 0
		}
	}
	return out, nil
}
