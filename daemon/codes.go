package daemon

// Code names an error or a failure for programs. A code is in snake_case and never changes. The codes of
// [data.DocumentError] are also Codes.
type Code string

// Why a handoff or a pipeline failed. docs/operating.md says what to do about each.
const (
	CodeAborted             Code = "aborted"
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
	CodeContextChanged Code = "context_changed"
	CodeNoSession      Code = "no_session"
	CodePromptTooLong  Code = "prompt_too_long"
	CodeStepOver       Code = "step_over"
	CodeUnknownPersona Code = "unknown_persona"
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
	CodeAgentResumed          Code = "agent_resumed"
	CodeAgentStarting         Code = "agent_starting"
	CodeAgentStopping         Code = "agent_stopping"
	CodeAnotherHandoff        Code = "another_handoff"
	CodeAnotherStep           Code = "another_step"
	CodeAuditBusy             Code = "audit_busy"
	CodeAuditTooSlow          Code = "audit_too_slow"
	CodeBadBranch             Code = "bad_branch"
	CodeBadComment            Code = "bad_comment"
	CodeBadContext            Code = "bad_context"
	CodeBadDirectory          Code = "bad_directory"
	CodeBadFocus              Code = "bad_focus"
	CodeBadHook               Code = "bad_hook"
	CodeBadMode               Code = "bad_mode"
	CodeBadName               Code = "bad_name"
	CodeBadPrompt             Code = "bad_prompt"
	CodeBadSize               Code = "bad_size"
	CodeBadText               Code = "bad_text"
	CodeBadTitle              Code = "bad_title"
	CodeContextMissing        Code = "context_missing"
	CodeDatabaseFull          Code = "database_full"
	CodeDatabaseReadOnly      Code = "database_read_only"
	CodeDatabaseUnavailable   Code = "database_unavailable"
	CodeDesktopIsASetting     Code = "desktop_is_a_setting"
	CodeErrorsAlways          Code = "errors_always"
	CodeHandoffEnded          Code = "handoff_ended"
	CodeHandoffInProgress     Code = "handoff_in_progress"
	CodeHandoffNotFailed      Code = "handoff_not_failed"
	CodeHandoffNotFound       Code = "handoff_not_found"
	CodeHandoffRecorded       Code = "handoff_recorded"
	CodeHandoffSuperseded     Code = "handoff_superseded"
	CodeHooksSpooled          Code = "hooks_spooled"
	CodeHostWaiting           Code = "host_waiting"
	CodeInvalidParameter      Code = "invalid_parameter"
	CodeNoSuchPeer            Code = "no_such_peer"
	CodeNotWaitingForApproval Code = "not_waiting_for_approval"
	CodeNothingToHandOff      Code = "nothing_to_hand_off"
	CodeOtherHost             Code = "other_host"
	CodeOwnMessage            Code = "own_message"
	CodePersonaArchived       Code = "persona_archived"
	CodePersonaBroken         Code = "persona_broken"
	CodePersonaNotPlayed      Code = "persona_not_played"
	CodePersonaPlayed         Code = "persona_played"
	CodePipelineEnded         Code = "pipeline_ended"
	CodePipelineFailed        Code = "pipeline_failed"
	CodePipelineNotFailed     Code = "pipeline_not_failed"
	CodePipelineNotFound      Code = "pipeline_not_found"
	CodeRuntimeMissing        Code = "runtime_missing"
	CodeSenderGone            Code = "sender_gone"
	CodeTemplateBroken        Code = "template_broken"
	CodeTextIsCommand         Code = "text_is_command"
	CodeTextTooLong           Code = "text_too_long"
	CodeTmuxUnavailable       Code = "tmux_unavailable"
	CodeTooManyMessages       Code = "too_many_messages"
	CodeUnknownLaunch         Code = "unknown_launch"
	CodeUnknownRuntime        Code = "unknown_runtime"
	CodeUnknownTemplate       Code = "unknown_template"
)

// badField returns the code for a bad value in the given field of a request.
func badField(field string) Code { return Code("bad_" + field) }

// failure returns the code for a handoff that failed because of the delivery's verdict.
func (d *Delivery) failure() Code { return Code(string(d.Kind) + "_" + string(*d.Verdict)) }
