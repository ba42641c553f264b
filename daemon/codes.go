package daemon

import (
	"unicode"
	"unicode/utf8"
)

// Code names an error or a failure for programs. A code is in snake_case and never changes. The codes of
// [data.DocumentError] are also Codes.
type Code string

// Why a handoff or a pipeline failed. docs/operating.md says what to do about each.
const (
	CodeAborted             Code = "aborted"
	CodeAccountLost         Code = "account_lost"
	CodeAgentGone           Code = "agent_gone"
	CodeAgentNotStartable   Code = "agent_not_startable"
	CodeBusyTimeout         Code = "busy_timeout"
	CodeCancelled           Code = "cancelled"
	CodeContextUnwritable   Code = "context_unwritable"
	CodeDocumentTimeout     Code = "document_timeout"
	CodeExitFailed          Code = "exit_failed"
	CodeFolderUnwritable    Code = "folder_unwritable"
	CodeGenerationEmpty     Code = "generation_empty"
	CodeGenerationFailed    Code = "generation_failed"
	CodeRegistrationTimeout Code = "registration_timeout"
	CodeRejected            Code = "rejected"
	CodeRuntimeError        Code = "runtime_error"
	CodeSkillTimeout        Code = "skill_timeout"
	CodeSpawnFailed         Code = "spawn_failed"
	CodeSpawnTimeout        Code = "spawn_timeout"
	CodeStartFailed         Code = "start_failed"
	CodeStepTimeout         Code = "step_timeout"
	CodeSuccessorGone       Code = "successor_gone"
	CodeSuccessorNotReady   Code = "successor_not_ready"
	CodeWorktreeFailed      Code = "worktree_failed"
)

// Why a handoff or a pipeline failed, and also why a request is refused. docs/operating.md and api/openapi.yaml list them.
const (
	CodeBadDirectory    Code = "bad_directory"
	CodeCannotLaunch    Code = "cannot_launch"
	CodeContextChanged  Code = "context_changed"
	CodeNoSession       Code = "no_session"
	CodePromptTooLong   Code = "prompt_too_long"
	CodeRuntimeMissing  Code = "runtime_missing"
	CodeStepOver        Code = "step_over"
	CodeUnknownPersona  Code = "unknown_persona"
	CodeUnknownRuntime  Code = "unknown_runtime"
	CodeWorktreeBusy    Code = "worktree_busy"
	CodeWorktreeRemoved Code = "worktree_removed"
)

// Why a request is refused. api/openapi.yaml lists them.
const (
	CodeAgentActive           Code = "agent_active"
	CodeAgentEnding           Code = "agent_ending"
	CodeAgentHasPersona       Code = "agent_has_persona"
	CodeAgentNoPane           Code = "agent_no_pane"
	CodeAgentNoPersona        Code = "agent_no_persona"
	CodeAgentNotActive        Code = "agent_not_active"
	CodeAgentNotFound         Code = "agent_not_found"
	CodeAgentNotLimited       Code = "agent_not_limited"
	CodeAgentOfStep           Code = "agent_of_step"
	CodeAgentResumed          Code = "agent_resumed"
	CodeAgentStarting         Code = "agent_starting"
	CodeAgentStopping         Code = "agent_stopping"
	CodeAnotherHandoff        Code = "another_handoff"
	CodeAnotherStep           Code = "another_step"
	CodeAuditBusy             Code = "audit_busy"
	CodeAuditTooSlow          Code = "audit_too_slow"
	CodeBadArgs               Code = "bad_args"
	CodeBadBranch             Code = "bad_branch"
	CodeBadFiles              Code = "bad_files"
	CodeBaseGone              Code = "base_gone"
	CodeBaseUnknown           Code = "base_unknown"
	CodeDiffBusy              Code = "diff_busy"
	CodeDiffFailed            Code = "diff_failed"
	CodeNoRepository          Code = "no_repository"
	CodeBadChoice             Code = "bad_choice"
	CodeBadKeys               Code = "bad_keys"
	CodeDismissByAgent        Code = "dismiss_by_agent"
	CodeDialogAnswered        Code = "dialog_answered"
	CodeDialogByAgent         Code = "dialog_by_agent"
	CodeDialogChanged         Code = "dialog_changed"
	CodeDialogIsPermission    Code = "dialog_is_permission"
	CodeDialogNotUnderstood   Code = "dialog_not_understood"
	CodeKeysForbidden         Code = "keys_forbidden"
	CodeKeysOff               Code = "keys_off"
	CodeKeysOutOfOrder        Code = "keys_out_of_order"
	CodeKeysWait              Code = "keys_wait"
	CodeNoDialog              Code = "no_dialog"
	CodeBadComment            Code = "bad_comment"
	CodeBadContext            Code = "bad_context"
	CodeBadDecision           Code = "bad_decision"
	CodeBadFocus              Code = "bad_focus"
	CodeBadGoto               Code = "bad_goto"
	CodeBadHeirs              Code = "bad_heirs"
	CodeBadHook               Code = "bad_hook"
	CodeBadMode               Code = "bad_mode"
	CodeBadName               Code = "bad_name"
	CodeBadNotify             Code = "bad_notify"
	CodeBadPermissionMode     Code = "bad_permission_mode"
	CodeBadPrompt             Code = "bad_prompt"
	CodeBadSentence           Code = "bad_sentence"
	CodeBadSettings           Code = "bad_settings"
	CodeBadSize               Code = "bad_size"
	CodeBadStep               Code = "bad_step"
	CodeBadText               Code = "bad_text"
	CodeBadTitle              Code = "bad_title"
	CodeBadVerdict            Code = "bad_verdict"
	CodeBudgetNotReached      Code = "budget_not_reached"
	CodeCannotCopySession     Code = "cannot_copy_session"
	CodeContextMissing        Code = "context_missing"
	CodeConversationGone      Code = "conversation_gone"
	CodeDatabaseFull          Code = "database_full"
	CodeDatabaseReadOnly      Code = "database_read_only"
	CodeDatabaseUnavailable   Code = "database_unavailable"
	CodeDesktopIsASetting     Code = "desktop_is_a_setting"
	CodeErrorsAlways          Code = "errors_always"
	CodeHandoffEnded          Code = "handoff_ended"
	CodeHandoffFailed         Code = "handoff_failed"
	CodeHandoffInProgress     Code = "handoff_in_progress"
	CodeHandoffNotFailed      Code = "handoff_not_failed"
	CodeHandoffNotFound       Code = "handoff_not_found"
	CodeHandoffRecorded       Code = "handoff_recorded"
	CodeHandoffSuperseded     Code = "handoff_superseded"
	CodeHeirNotAllowed        Code = "heir_not_allowed"
	CodeHooksSpooled          Code = "hooks_spooled"
	CodeHostWaiting           Code = "host_waiting"
	CodeInvalidParameter      Code = "invalid_parameter"
	CodeMessageNotFound       Code = "message_not_found"
	CodeMessageTaken          Code = "message_taken"
	CodeNotAMessage           Code = "not_a_message"
	CodeNoBudget              Code = "no_budget"
	CodeNoFallback            Code = "no_fallback"
	CodeNoSettings            Code = "no_settings"
	CodeNoSuchPeer            Code = "no_such_peer"
	CodeNotWaitingForApproval Code = "not_waiting_for_approval"
	CodeNothingToHandOff      Code = "nothing_to_hand_off"
	CodeNothingToWaitFor      Code = "nothing_to_wait_for"
	CodeOtherHost             Code = "other_host"
	CodeOwnMessage            Code = "own_message"
	CodePermissionAnswered    Code = "permission_answered"
	CodePermissionByAgent     Code = "permission_by_agent"
	CodePermissionNotFound    Code = "permission_not_found"
	CodePermissionNotHeld     Code = "permission_not_held"
	CodePermissionNotShown    Code = "permission_not_shown"
	CodePersonaArchived       Code = "persona_archived"
	CodePersonaBroken         Code = "persona_broken"
	CodePersonaNotPlayed      Code = "persona_not_played"
	CodePersonaPlayed         Code = "persona_played"
	CodePipelineEnded         Code = "pipeline_ended"
	CodePipelineFailed        Code = "pipeline_failed"
	CodePipelineNotFailed     Code = "pipeline_not_failed"
	CodePipelineNotFound      Code = "pipeline_not_found"
	CodeRecordMissing         Code = "record_missing"
	CodeSenderGone            Code = "sender_gone"
	CodeStepUndecided         Code = "step_undecided"
	CodeTargetNotFound        Code = "target_not_found"
	CodeTemplateBroken        Code = "template_broken"
	CodeTextIsCommand         Code = "text_is_command"
	CodeTextTooLong           Code = "text_too_long"
	CodeTmuxUnavailable       Code = "tmux_unavailable"
	CodeTooManyMessages       Code = "too_many_messages"
	CodeUnknownLaunch         Code = "unknown_launch"
	CodeUnknownTemplate       Code = "unknown_template"
	CodeWorktreeGone          Code = "worktree_gone"
	CodeWorktreeNotFound      Code = "worktree_not_found"
	CodeWorktreeRefused       Code = "worktree_refused"
	CodeWorktreeStands        Code = "worktree_stands"
	CodeWorktreeUncommitted   Code = "worktree_uncommitted"
	CodeWorktreeUsed          Code = "worktree_used"
)

// BadField returns the code for a bad value in the given field of a request.
func BadField(field string) Code { return Code("bad_" + field) }

// Failure returns the code for a handoff that failed because of the delivery's verdict.
func (d *Delivery) Failure() Code { return Code(string(d.Kind) + "_" + string(*d.Verdict)) }

// CheckLine refuses a field that is not one short line of text.
func CheckLine(field, s string, limit int) error {
	if n := utf8.RuneCountInString(s); n > limit {
		return Errorf(KindInvalid, BadField(field), "%s has %d characters but at most %d are allowed", field, n, limit)
	}
	for _, r := range s {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError {
			return Errorf(KindInvalid, BadField(field), "%s must be one line without control characters", field)
		}
	}
	return nil
}
