package daemon

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// EventTypes are the types of the events that a daemon logs, sorted.
var EventTypes = sync.OnceValue(func() []string {
	all := strings.Fields(`
		agent_compacting agent_context agent_context_unknown agent_created agent_ended agent_failed agent_handoff_refused
		agent_messaged agent_needs_input agent_persona_assigned agent_registered agent_resumed agent_session_changed
		agent_skill_injected agent_started agent_stop_failed agent_stop_requested agent_stop_withdrawn agent_stopping
		agent_stuck agent_without_progress
		database_lost database_unavailable delivery_answered delivery_queued delivery_submitted delivery_not_submitted
		delivery_unconfirmed
		handoff_started handoff_retried handoff_created handoff_extraction_failed handoff_fallback_used handoff_superseded
		handoff_waiting handoff_extracted
		hook_disbelieved hook_refused hook_set_aside host_moved log_pruned operator_notified operator_preferences_changed
		spool_unreadable
		pipeline_created pipeline_pending pipeline_running pipeline_resumed pipeline_waiting pipeline_waiting_for_approval
		pipeline_approval_reminder pipeline_stuck pipeline_warning pipeline_done pipeline_failed pipeline_worktree_created
		pipeline_worktree_kept pipeline_worktree_removed
		step_running step_done step_failed step_skipped step_approved step_rejected step_handoff_created step_output_empty
		step_extraction_failed template_broken`)
	for _, s := range []AgentState{Starting, Idle, Working, Waiting} {
		all = append(all, "agent_"+string(s))
	}
	for _, s := range handoffSteps {
		all = append(all, "handoff_"+string(s.at))
	}
	for _, p := range []Phase{Completed, Failed, Cancelled} {
		all = append(all, "handoff_"+string(p))
	}
	for t := range eventWords {
		all = append(all, t)
	}
	slices.Sort(all)
	return slices.Compact(all)
})

// CheckEventTypes refuses what is no type of event, and names those that are most like it: who asks for one
// that there is not would wait for ever.
func CheckEventTypes(types []string) error {
	for _, t := range types {
		if slices.Contains(EventTypes(), t) {
			continue
		}
		like := slices.Clone(EventTypes())
		slices.SortStableFunc(like, func(a, b string) int { return cmp.Compare(unlike(t, a), unlike(t, b)) })
		return Errorf(KindInvalid, "invalid_parameter", "%.80q is no type of event: the nearest are %s", t, strings.Join(like[:3], ", "))
	}
	return nil
}

// unlike is how many letters must be put in, left out or replaced to make one word of the other. Where one
// is a part of the other it is less.
func unlike(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := last
			if a[i] != b[j] {
				change++
			}
			last = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	if a != "" && strings.Contains(b, a) {
		return row[len(b)] / 4
	}
	return row[len(b)]
}
