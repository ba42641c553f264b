package event

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Type says what has happened.
type Type string

// The types of events. [Of] makes the types that only say which state a handoff, an agent or a delivery has reached.
const (
	// Of agents.
	AgentAccountLost     Type = "agent_account_lost"
	AgentCompacting      Type = "agent_compacting"
	AgentContext         Type = "agent_context"
	AgentContextUnknown  Type = "agent_context_unknown"
	AgentCreated         Type = "agent_created"
	AgentEnded           Type = "agent_ended"
	AgentFailed          Type = "agent_failed"
	AgentIdle            Type = "agent_idle"
	AgentLimitDecided    Type = "agent_limit_decided"
	AgentLimited         Type = "agent_limited"
	AgentStarting        Type = "agent_starting"
	AgentWaiting         Type = "agent_waiting"
	AgentWorking         Type = "agent_working"
	AgentDialogAnswered  Type = "agent_dialog_answered"
	AgentDialogEnded     Type = "agent_dialog_ended"
	AgentDismissed       Type = "agent_dismissed"
	AgentHandoffRefused  Type = "agent_handoff_refused"
	AgentInBackground    Type = "agent_in_background"
	AgentKeysOff         Type = "agent_keys_off"
	AgentKeysOn          Type = "agent_keys_on"
	AgentMessaged        Type = "agent_messaged"
	AgentNotResumed      Type = "agent_not_resumed"
	AgentPersonaAssigned Type = "agent_persona_assigned"
	AgentRenamed         Type = "agent_renamed"
	AgentResumed         Type = "agent_resumed"
	AgentSeen            Type = "agent_seen"
	AgentFinished        Type = "agent_finished"
	AgentRegistered      Type = "agent_registered"
	AgentScreenUnknown   Type = "agent_screen_unknown"
	AgentServerTaken     Type = "agent_server_taken"
	AgentSessionChanged  Type = "agent_session_changed"
	AgentMoved           Type = "agent_moved"
	AgentSkillInjected   Type = "agent_skill_injected"
	AgentStarted         Type = "agent_started"
	AgentStopFailed      Type = "agent_stop_failed"
	AgentStopRequested   Type = "agent_stop_requested"
	AgentStopWithdrawn   Type = "agent_stop_withdrawn"
	AgentStopping        Type = "agent_stopping"
	AgentStuck           Type = "agent_stuck"
	AgentTrouble         Type = "agent_trouble"
	AgentTroubleOver     Type = "agent_trouble_over"
	AgentWithoutProgress Type = "agent_without_progress"

	PermissionAnswered Type = "permission_answered"
	PermissionAsked    Type = "permission_asked"
	PermissionEnded    Type = "permission_ended"

	// Of handoffs. [Of] makes one more type for each phase.
	HandoffCancelled        Type = "handoff_cancelled"
	HandoffCompleted        Type = "handoff_completed"
	HandoffCreated          Type = "handoff_created"
	HandoffExtracted        Type = "handoff_extracted"
	HandoffExtractionFailed Type = "handoff_extraction_failed"
	HandoffFailed           Type = "handoff_failed"
	HandoffFallbackUsed     Type = "handoff_fallback_used"
	HandoffHeirFailed       Type = "handoff_heir_failed"
	HandoffHeirMoved        Type = "handoff_heir_moved"
	HandoffRead             Type = "handoff_read"
	HandoffRetried          Type = "handoff_retried"
	HandoffStarted          Type = "handoff_started"
	HandoffUnread           Type = "handoff_unread"
	HandoffWaiting          Type = "handoff_waiting"

	// Of deliveries.
	DeliveryAnswered     Type = "delivery_answered"
	DeliveryCancelled    Type = "delivery_cancelled"
	DeliveryNotSubmitted Type = "delivery_not_submitted"
	DeliveryPassedOn     Type = "delivery_passed_on"
	DeliveryQueued       Type = "delivery_queued"
	DeliverySubmitted    Type = "delivery_submitted"
	DeliveryTypedAgain   Type = "delivery_typed_again"
	DeliveryUnconfirmed  Type = "delivery_unconfirmed"

	// Of pipelines and their steps.
	PipelineApprovalReminder   Type = "pipeline_approval_reminder"
	PipelineCreated            Type = "pipeline_created"
	PipelineDone               Type = "pipeline_done"
	PipelineFailed             Type = "pipeline_failed"
	PipelinePending            Type = "pipeline_pending"
	PipelineResumed            Type = "pipeline_resumed"
	PipelineRunning            Type = "pipeline_running"
	PipelineStuck              Type = "pipeline_stuck"
	PipelineWaiting            Type = "pipeline_waiting"
	PipelineWaitingForApproval Type = "pipeline_waiting_for_approval"
	PipelineWarning            Type = "pipeline_warning"
	StepApproved               Type = "step_approved"
	StepDone                   Type = "step_done"
	StepFailed                 Type = "step_failed"
	StepOutputEmpty            Type = "step_output_empty"
	StepRejected               Type = "step_rejected"
	StepRouted                 Type = "step_routed"
	StepRunning                Type = "step_running"
	StepSkipped                Type = "step_skipped"

	// Of work trees.
	WorktreeAsked         Type = "worktree_asked"
	WorktreeCreated       Type = "worktree_created"
	WorktreeFailed        Type = "worktree_failed"
	WorktreeKept          Type = "worktree_kept"
	WorktreeMerged        Type = "worktree_merged"
	WorktreeMergeRefused  Type = "worktree_merge_refused"
	WorktreeRemoved       Type = "worktree_removed"
	WorktreeRestored      Type = "worktree_restored"
	WorktreeRestoreFailed Type = "worktree_restore_failed"
	WorktreeStuck         Type = "worktree_stuck"

	PersonaRenamed Type = "persona_renamed"

	// Of budgets.
	BudgetReached Type = "budget_reached"
	BudgetReset   Type = "budget_reset"
	BudgetWaived  Type = "budget_waived"
	BudgetWarned  Type = "budget_warned"

	// Of the daemon itself.
	DatabaseLost               Type = "database_lost"
	ExperienceCut              Type = "experience_cut"
	Flooded                    Type = "flooded"
	HistoryPruned              Type = "history_pruned"
	HookDisbelieved            Type = "hook_disbelieved"
	HookRefused                Type = "hook_refused"
	HookSetAside               Type = "hook_set_aside"
	HostMoved                  Type = "host_moved"
	LogPruned                  Type = "log_pruned"
	NotificationFailed         Type = "notification_failed"
	OperatorNotified           Type = "operator_notified"
	OperatorPreferencesChanged Type = "operator_preferences_changed"
	SettingsRefused            Type = "settings_refused"
	SettingsReloaded           Type = "settings_reloaded"
	SpoolUnreadable            Type = "spool_unreadable"
	TemplateBroken             Type = "template_broken"
)

// Of returns the type of the event which says that a handoff, an agent or a delivery has reached a state. of is
// "handoff", "agent" or "delivery".
func Of[S ~string](of string, state S) Type {
	return Type(of + "_" + string(state))
}

// About reports whether events of this type are about what, such as "agent", "handoff", "pipeline" or "step".
func (t Type) About(what string) bool { return strings.HasPrefix(string(t), what+"_") }

// Types returns the types of the events that a daemon logs, without the types of a handoff's phases.
var Types = sync.OnceValue(func() []Type {
	// The events of these types have their sentence for people in the payload; eventWords has the other sentences.
	all := []Type{
		AgentAccountLost, AgentCompacting, AgentContextUnknown, AgentFinished, AgentHandoffRefused, AgentInBackground, AgentLimitDecided, AgentMessaged, AgentNotResumed, AgentResumed, AgentScreenUnknown, AgentServerTaken, AgentStopFailed,
		AgentStuck, AgentWithoutProgress, BudgetReached, BudgetReset, BudgetWaived, BudgetWarned, DatabaseLost, ExperienceCut, Flooded, HandoffFallbackUsed, HandoffHeirFailed, HandoffUnread, HandoffWaiting,
		HookDisbelieved, HookRefused, HookSetAside, HostMoved, NotificationFailed, OperatorPreferencesChanged,
		PipelineApprovalReminder, PipelineDone, PipelineFailed, PipelineStuck, PipelineWaiting,
		PipelineWaitingForApproval, PipelineWarning, SettingsRefused, SettingsReloaded, SpoolUnreadable, StepOutputEmpty,
		TemplateBroken, WorktreeStuck,
	}
	return slices.AppendSeq(all, maps.Keys(eventWords))
})
