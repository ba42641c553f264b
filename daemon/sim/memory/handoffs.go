package memory

import (
	"context"
	"slices"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/storetext"
)

// phases are the phases that the schema knows, each with whether a handoff in it can be before or after its record.
var phases = map[daemon.Phase]struct{ before, after bool }{
	daemon.Requested: {before: true}, daemon.Instructing: {before: true}, daemon.AwaitingDocument: {before: true},
	daemon.Generating: {before: true}, daemon.Verifying: {before: true}, daemon.Cancelled: {before: true},
	daemon.Recorded: {after: true}, daemon.BriefingHeirs: {after: true}, daemon.ShuttingDown: {after: true}, daemon.Spawning: {after: true},
	daemon.AwaitingRegistration: {after: true}, daemon.InjectingSkill: {after: true}, daemon.Briefing: {after: true},
	daemon.Completed: {after: true}, daemon.Failed: {before: true, after: true},
}

// heirPhases are the phases that the schema knows of an heir; "": it is not started.
var heirPhases = []daemon.Phase{
	"", daemon.Spawning, daemon.AwaitingRegistration, daemon.InjectingSkill, daemon.Briefing, daemon.Completed, daemon.Failed,
}

// claims reports whether a handoff is the one that its agent may have: it is open or completed, or it failed
// after its record. A handoff that left its agent alive is not: it kept the agent, or failed while it briefed the heirs.
func claims(h *daemon.Handoff) bool {
	switch h.Phase {
	case daemon.Cancelled:
		return false
	case daemon.Completed:
		return !h.Keep
	case daemon.Failed:
		return h.RecordedAt != nil && (h.Error == nil || h.Error.Phase != daemon.BriefingHeirs)
	}
	return true
}

func (t *tx) putHandoff(h *daemon.Handoff) error {
	row := kept(*h)
	row.Status, row.ReadAt, row.UnreadAt = row.Phase.Status(), nil, nil
	for i := range row.Heirs {
		row.Heirs[i].ReadAt, row.Heirs[i].UnreadAt = nil, nil
	}
	row.ReadOld()
	phase, known := phases[row.Phase]
	other := func(is func(*daemon.Handoff) bool) bool { return t.handoffs.any(row.ID, is) }
	if err := check(
		"handoffs_phase_known", known,
		"handoffs_recorded", row.RecordedAt == nil && phase.before || row.RecordedAt != nil && phase.after,
		"handoffs_ref_key", !other(func(b *daemon.Handoff) bool { return b.Ref == row.Ref }),
		"handoffs_file_path_key", !other(func(b *daemon.Handoff) bool { return b.FilePath == row.FilePath }),
		"handoffs_one_per_agent", !claims(&row) || !other(func(b *daemon.Handoff) bool { return b.AgentID == row.AgentID && claims(b) }),
	); err != nil {
		return err
	}
	var before []daemon.HandoffHeir
	if old := t.handoffs.get(row.ID); old != nil {
		before = old.Heirs
	}
	write(t, &t.handoffs, row.ID, &row)
	if err := check(
		"handoffs_agent_id_fkey", t.agents.get(row.AgentID) != nil,
		"handoffs_successor_id_fkey", t.agents.has(row.SuccessorID),
	); err != nil {
		return err
	}
	return t.checkHeirs(&row, before)
}

// checkHeirs checks the heirs of a handoff in their order, in which PostgreSQL writes them over those before.
func (t *tx) checkHeirs(row *daemon.Handoff, before []daemon.HandoffHeir) error {
	now := slices.Clone(before)
	now = append(now, make([]daemon.HandoffHeir, max(0, len(row.Heirs)-len(now)))...)
	is := func(heir *daemon.HandoffHeir, agentID int64) bool {
		return heir.AgentID != nil && *heir.AgentID == agentID
	}
	for i := range row.Heirs {
		heir := row.Heirs[i]
		now[i] = daemon.HandoffHeir{}
		taken := heir.AgentID != nil && (slices.ContainsFunc(now, func(b daemon.HandoffHeir) bool { return is(&b, *heir.AgentID) }) ||
			t.handoffs.any(row.ID, func(b *daemon.Handoff) bool {
				return slices.ContainsFunc(b.Heirs, func(b daemon.HandoffHeir) bool { return is(&b, *heir.AgentID) })
			}))
		now[i] = heir
		if err := check(
			"handoff_heirs_phase_known", slices.Contains(heirPhases, heir.Phase),
			"handoff_heirs_agent", !taken,
			"handoff_heirs_agent_id_fkey", t.agents.has(heir.AgentID),
		); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) putTransition(m daemon.Transition) error {
	var all []daemon.Transition
	if before := t.transitions.get(m.HandoffID); before != nil {
		all = slices.Clone(*before)
	}
	if err := check(
		"transitions_pkey", !slices.ContainsFunc(all, func(b daemon.Transition) bool { return b.Seq == m.Seq }),
		"transitions_handoff_id_fkey", t.handoffs.get(m.HandoffID) != nil,
	); err != nil {
		return err
	}
	all = append(all, kept(m))
	write(t, &t.transitions, m.HandoffID, &all)
	return nil
}

// Handoff returns a handoff; [daemon.ErrNotFound] for an unknown id.
func (s *rowStore) Handoff(ctx context.Context, id int64) (daemon.Handoff, error) {
	return one(ctx, &s.view, &s.handoffs, id, "handoff %d", nil)
}

// Handoffs lists handoffs, the newest first.
func (s *rowStore) Handoffs(ctx context.Context, f daemon.HandoffFilter) ([]daemon.Handoff, error) {
	leave, err := s.enter(ctx, "list of handoffs")
	if err != nil {
		return nil, err
	}
	defer leave()
	last := map[int64]int64{} // an agent's newest handoff, by agent id
	if f.Last {
		for _, h := range s.handoffs.all() {
			last[h.AgentID] = max(last[h.AgentID], h.ID)
		}
	}
	persona := storetext.Text(f.Persona)
	return collect(&s.view, s.handoffs.newest(), limitOr(f.Limit, 100), func(h *daemon.Handoff) bool {
		return (!f.Last || last[h.AgentID] == h.ID) &&
			(f.AgentID == 0 || h.AgentID == f.AgentID) &&
			(f.SuccessorID == 0 || leadsTo(h, f.SuccessorID)) &&
			(f.Persona == "" || h.Persona == persona) &&
			(f.Status == "" || h.Status == f.Status) &&
			(f.Host == "" || h.Host == f.Host) &&
			(!f.Open || h.Open()) &&
			(f.Before == 0 || h.ID < f.Before)
	}), nil
}

// leadsTo reports whether an agent is the successor of a handoff, or one of its heirs.
func leadsTo(h *daemon.Handoff, agentID int64) bool {
	return h.SuccessorID != nil && *h.SuccessorID == agentID || slices.Contains(h.SuccessorIDs(), agentID)
}

// Transitions returns a handoff's transitions in order, none for an unknown id.
func (s *rowStore) Transitions(ctx context.Context, handoffID int64) ([]daemon.Transition, error) {
	leave, err := s.enter(ctx, "transitions of handoff %d", handoffID)
	if err != nil {
		return nil, err
	}
	defer leave()
	if all := s.transitions.get(handoffID); all != nil {
		return answer(&s.view, all), nil
	}
	return []daemon.Transition{}, nil
}
