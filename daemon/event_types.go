package daemon

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
)

// EventType says what has happened.
type EventType string

// The types of events. eventOf names those that only tell of a state.
const (
	// Of agents.
	EventAgentCompacting      EventType = "agent_compacting"
	EventAgentContext         EventType = "agent_context"
	EventAgentContextUnknown  EventType = "agent_context_unknown"
	EventAgentCreated         EventType = "agent_created"
	EventAgentEnded           EventType = "agent_ended"
	EventAgentFailed          EventType = "agent_failed"
	EventAgentHandoffRefused  EventType = "agent_handoff_refused"
	EventAgentMessaged        EventType = "agent_messaged"
	EventAgentPersonaAssigned EventType = "agent_persona_assigned"
	EventAgentRegistered      EventType = "agent_registered"
	EventAgentSessionChanged  EventType = "agent_session_changed"
	EventAgentSkillInjected   EventType = "agent_skill_injected"
	EventAgentStarted         EventType = "agent_started"
	EventAgentStopFailed      EventType = "agent_stop_failed"
	EventAgentStopRequested   EventType = "agent_stop_requested"
	EventAgentStopWithdrawn   EventType = "agent_stop_withdrawn"
	EventAgentStopping        EventType = "agent_stopping"
	EventAgentStuck           EventType = "agent_stuck"
	EventAgentTrouble         EventType = "agent_trouble"
	EventAgentTroubleOver     EventType = "agent_trouble_over"
	EventAgentWithoutProgress EventType = "agent_without_progress"

	// Of handoffs; besides, eventOf names one for each phase.
	EventHandoffCancelled        EventType = "handoff_cancelled"
	EventHandoffCompleted        EventType = "handoff_completed"
	EventHandoffCreated          EventType = "handoff_created"
	EventHandoffExtractionFailed EventType = "handoff_extraction_failed"
	EventHandoffFailed           EventType = "handoff_failed"
	EventHandoffFallbackUsed     EventType = "handoff_fallback_used"
	EventHandoffRetried          EventType = "handoff_retried"
	EventHandoffStarted          EventType = "handoff_started"
	EventHandoffWaiting          EventType = "handoff_waiting"

	// Of deliveries.
	EventDeliveryAnswered     EventType = "delivery_answered"
	EventDeliveryNotSubmitted EventType = "delivery_not_submitted"
	EventDeliveryQueued       EventType = "delivery_queued"
	EventDeliverySubmitted    EventType = "delivery_submitted"

	// Of pipelines and their steps.
	EventPipelineApprovalReminder   EventType = "pipeline_approval_reminder"
	EventPipelineCreated            EventType = "pipeline_created"
	EventPipelineDone               EventType = "pipeline_done"
	EventPipelineFailed             EventType = "pipeline_failed"
	EventPipelinePending            EventType = "pipeline_pending"
	EventPipelineResumed            EventType = "pipeline_resumed"
	EventPipelineRunning            EventType = "pipeline_running"
	EventPipelineStuck              EventType = "pipeline_stuck"
	EventPipelineWaiting            EventType = "pipeline_waiting"
	EventPipelineWaitingForApproval EventType = "pipeline_waiting_for_approval"
	EventPipelineWarning            EventType = "pipeline_warning"
	EventPipelineWorktreeCreated    EventType = "pipeline_worktree_created"
	EventPipelineWorktreeKept       EventType = "pipeline_worktree_kept"
	EventPipelineWorktreeRemoved    EventType = "pipeline_worktree_removed"
	EventStepApproved               EventType = "step_approved"
	EventStepDone                   EventType = "step_done"
	EventStepExtractionFailed       EventType = "step_extraction_failed"
	EventStepFailed                 EventType = "step_failed"
	EventStepHandoffCreated         EventType = "step_handoff_created"
	EventStepOutputEmpty            EventType = "step_output_empty"
	EventStepRejected               EventType = "step_rejected"
	EventStepRunning                EventType = "step_running"
	EventStepSkipped                EventType = "step_skipped"

	// Of the daemon itself.
	EventDatabaseLost               EventType = "database_lost"
	EventHistoryPruned              EventType = "history_pruned"
	EventHookDisbelieved            EventType = "hook_disbelieved"
	EventHookRefused                EventType = "hook_refused"
	EventHookSetAside               EventType = "hook_set_aside"
	EventHostMoved                  EventType = "host_moved"
	EventLogPruned                  EventType = "log_pruned"
	EventOperatorNotified           EventType = "operator_notified"
	EventOperatorPreferencesChanged EventType = "operator_preferences_changed"
	EventSpoolUnreadable            EventType = "spool_unreadable"
	EventTemplateBroken             EventType = "template_broken"
)

// eventOf is the type of the event that tells of a state: that of a handoff, an agent or a delivery.
func eventOf[S Phase | AgentState | Verdict](of string, state S) EventType {
	return EventType(of + "_" + string(state))
}

// About reports whether the type is of what happens to agents, handoffs, pipelines or steps.
func (t EventType) About(what string) bool { return strings.HasPrefix(string(t), what+"_") }

// EventTypes are the types of the events that a daemon logs, sorted.
var EventTypes = sync.OnceValue(func() []EventType {
	// Those whose payload says itself what they mean; eventWords has the others.
	all := []EventType{
		EventAgentCompacting, EventAgentContextUnknown, EventAgentHandoffRefused, EventAgentMessaged, EventAgentStopFailed,
		EventAgentStuck, EventAgentWithoutProgress, EventDatabaseLost, EventHandoffFallbackUsed, EventHandoffWaiting,
		EventHookDisbelieved, EventHookRefused, EventHookSetAside, EventHostMoved, EventOperatorPreferencesChanged,
		EventPipelineApprovalReminder, EventPipelineDone, EventPipelineFailed, EventPipelineStuck, EventPipelineWaiting,
		EventPipelineWaitingForApproval, EventPipelineWarning, EventSpoolUnreadable, EventStepOutputEmpty,
		EventTemplateBroken,
	}
	for _, p := range slices.Concat(OpenPhases(), []Phase{Completed, Failed, Cancelled}) {
		all = append(all, eventOf("handoff", p))
	}
	all = slices.AppendSeq(all, maps.Keys(eventWords))
	slices.Sort(all)
	return slices.Compact(all)
})

// CheckEventTypes refuses what is no type of event, and names those that are most like it: who asks for one
// that there is not would wait for ever.
func CheckEventTypes(types []string) error {
	for _, t := range types {
		like := EventTypes()
		if slices.Contains(like, EventType(t)) {
			continue
		}
		like = slices.Clone(like)
		slices.SortStableFunc(like, func(a, b EventType) int { return cmp.Compare(unlike(t, string(a)), unlike(t, string(b))) })
		return Errorf(KindInvalid, CodeInvalidParameter, "%.80q is no type of event: the nearest are %s, %s, %s", t, like[0], like[1], like[2])
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
