package daemon

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// EventTypes are the types of the events that a daemon logs, sorted.
var EventTypes = sync.OnceValue(func() []string {
	// Those whose payload says itself what they mean; eventWords has the others.
	all := strings.Fields(`
		agent_compacting agent_context_unknown agent_handoff_refused agent_messaged agent_needs_input
		agent_resumed agent_stop_failed agent_stuck agent_without_progress database_lost
		database_unavailable handoff_fallback_used handoff_superseded handoff_waiting handoff_extracted
		hook_disbelieved hook_refused hook_set_aside host_moved operator_preferences_changed
		spool_unreadable pipeline_waiting pipeline_waiting_for_approval pipeline_approval_reminder
		pipeline_stuck pipeline_warning pipeline_done pipeline_failed step_output_empty template_broken`)
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
