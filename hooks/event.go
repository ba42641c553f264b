package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// The events that the daemon acts on, by Claude Code's names.
const (
	SessionStart      = "SessionStart"
	UserPromptSubmit  = "UserPromptSubmit"
	Stop              = "Stop"
	StopFailure       = "StopFailure"
	SessionEnd        = "SessionEnd"
	Notification      = "Notification"
	PermissionRequest = "PermissionRequest"
	PreToolUse        = "PreToolUse"
	PostToolUse       = "PostToolUse"
	PreCompact        = "PreCompact"
	PostCompact       = "PostCompact"
	SubagentStart     = "SubagentStart"
	SubagentStop      = "SubagentStop"
)

// The events that other runtimes report and Claude Code does not.
const (
	Interrupt    = "Interrupt"    // a person has interrupted the turn
	DialogClosed = "DialogClosed" // the dialog that a PermissionRequest reported is gone, and the turn goes on
	// PromptRefused says that another hook has refused a prompt, of which UserPromptSubmit has told; Reason says why. The CLIs tell it
	// in their transcripts only.
	PromptRefused = "PromptRefused"
	RetryStarted  = "RetryStarted" // the API has refused a request of the running turn, and the runtime sends it again by itself
	RetryEnded    = "RetryEnded"   // the API has answered such a request, and the turn goes on
)

// names are the 33 events of Claude Code 2.1.329.
var names = []string{
	SessionStart, UserPromptSubmit, Stop, StopFailure, SessionEnd, Notification,
	PermissionRequest, PreToolUse, PostToolUse, PreCompact, PostCompact,
	SubagentStart, SubagentStop,
	"ConfigChange", "CwdChanged", "DirectoryAdded", "Elicitation",
	"ElicitationResult", "FileChanged", "InstructionsLoaded", "MessageDisplay",
	"PermissionDenied", "PostModelSwitch", "PostToolBatch", "PostToolUseFailure",
	"PreModelSwitch", "Setup", "TaskCompleted", "TaskCreated", "TeammateIdle",
	"UserPromptExpansion", "WorktreeCreate", "WorktreeRemove",
}

// MaxBody is the size of the largest payload that is accepted, in bytes.
const MaxBody = 1 << 20

const maxEventName = 64

// Known reports whether name, which must be canonical, is an event of Claude Code
// 2.1.329.
func Known(name string) bool { return slices.Contains(names, name) }

// Canonical returns Claude Code's spelling of an event: "session-start",
// "sessionstart" and "SessionStart" all become SessionStart. It also accepts an
// unknown but well-formed name of at most 64 bytes, because each release of the
// CLI may add events. [Known] distinguishes known from unknown names.
func Canonical(name string) (string, bool) {
	if name == "" || len(name) > maxEventName {
		return "", false
	}
	if camelCase(name) {
		return name, true
	}
	if name != strings.ToLower(name) {
		return "", false
	}
	var camel strings.Builder
	for part := range strings.SplitSeq(name, "-") {
		if part == "" || part[0] < 'a' || part[0] > 'z' {
			return "", false
		}
		camel.WriteByte(part[0] - 'a' + 'A')
		camel.WriteString(part[1:])
	}
	for _, known := range names {
		if strings.EqualFold(known, camel.String()) {
			return known, true
		}
	}
	return camel.String(), camelCase(camel.String())
}

func camelCase(name string) bool {
	for i := range len(name) {
		c := name[i]
		upper, lower, digit := 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9'
		if !upper && (i == 0 || !lower && !digit) {
			return false
		}
	}
	return name != ""
}

// Payload has the fields of all events. A field that the event does not have is
// zero.
type Payload struct {
	Event                string // canonical
	SessionID            string
	TranscriptPath       string
	CWD                  string
	PromptID             string // empty before a session's first prompt
	Prompt               string // UserPromptSubmit: the prompt as typed, or wrapped as pasted content
	Source               string // SessionStart: startup, resume, clear, compact, fork
	Model                string // SessionStart, but not after clear, resume, fork
	SessionTitle         string
	PermissionMode       string
	Reason               string // SessionEnd: clear, resume, prompt_input_exit, other
	LastAssistantMessage string
	NotificationType     string
	Message              string // Notification
	ToolName             string
	Error                string // StopFailure, PostToolUseFailure: the error
	ErrorDetails         string
	Trigger              string // PreCompact, PostCompact: manual, auto
	AgentID              string // the id of a subagent
	AgentType            string
	StopHookActive       bool // a hook has blocked the previous Stop
	Kept                 bool // PromptRefused: the prompt is in the conversation all the same, and the model sees it with the next one
	BackgroundTasks      int  // how many background tasks are still running
	// Tasks are these tasks, and Crons are the prompts that the session has scheduled, as far as the CLI says it.
	Tasks []Task
	Crons []Cron
	// ResetsAt is when the limit ends that a StopFailure reports, in Unix seconds. Claude Code does not send it; 0: not given.
	ResetsAt int64
	// Since is when the first of the requests was sent that a RetryStarted reports, in Unix milliseconds; 0: not given.
	Since int64
	// Context is the use of the context window at the event, from a runtime that tells it with its hooks.
	Context   ContextUse
	ToolInput json.RawMessage

	// Handoff is the id of the handoff whose command was interrupted while the daemon held it; see [Interrupted]. 0: none.
	Handoff int64

	// Truncated and Malformed say that the CLI's payload was too large or not JSON.
	// [Command] then sent a body that has only the ids.
	Truncated, Malformed bool
}

// TaskShell is the type of a task that is a shell command.
const TaskShell = "shell"

// Task is what runs in the background of a session.
type Task struct {
	ID          string `json:"id"`
	Type        string `json:"type"` // TaskShell, "subagent", or another word of the CLI's
	Description string `json:"description"`
	Command     string `json:"command"` // of a shell command
}

// Cron is a prompt that a session has scheduled.
type Cron struct {
	ID       string `json:"id"`
	Schedule string `json:"schedule"`
	Prompt   string `json:"prompt"`
}

// ContextUse is how full a context window is, in tokens. The zero value says that it is not known.
type ContextUse struct {
	Tokens int64 `json:"tokens"`
	Limit  int64 `json:"limit"` // the size of the window
}

// Parse parses the payload of event, whose name may have any spelling that
// [Canonical] accepts. It ignores unknown fields and fields that are null. It
// returns an error, whose text may stand in the answer, if the body is larger than
// [MaxBody], is not valid UTF-8 or not a JSON object, has a field of the wrong
// type, or belongs to another event.
func Parse(event string, body []byte) (Payload, error) {
	name, ok := Canonical(event)
	if !ok {
		return Payload{}, fmt.Errorf("hook event %.80q is not a name like SessionStart or session-start", event)
	}
	p, err := parse(name, body)
	if err != nil {
		return Payload{}, fmt.Errorf("payload of hook %s: %w", name, err)
	}
	return p, nil
}

func parse(event string, body []byte) (Payload, error) {
	fields, err := object(body)
	if err != nil {
		return Payload{}, err
	}
	p := Payload{Event: event}
	var named string
	for _, f := range []struct {
		name string
		to   *string
	}{
		{"hook_event_name", &named}, {"session_id", &p.SessionID},
		{"transcript_path", &p.TranscriptPath}, {"cwd", &p.CWD},
		{"prompt_id", &p.PromptID}, {"prompt", &p.Prompt}, {"source", &p.Source},
		{"model", &p.Model}, {"session_title", &p.SessionTitle},
		{"permission_mode", &p.PermissionMode}, {"reason", &p.Reason},
		{"last_assistant_message", &p.LastAssistantMessage},
		{"notification_type", &p.NotificationType}, {"message", &p.Message},
		{"tool_name", &p.ToolName}, {"error", &p.Error},
		{"error_details", &p.ErrorDetails}, {"trigger", &p.Trigger},
		{"agent_id", &p.AgentID}, {"agent_type", &p.AgentType},
	} {
		if err := field(fields, f.name, f.to, "a string"); err != nil {
			return Payload{}, err
		}
	}
	var tasks []json.RawMessage
	err = errors.Join(
		field(fields, "stop_hook_active", &p.StopHookActive, "true or false"),
		field(fields, "kept", &p.Kept, "true or false"),
		field(fields, truncatedField, &p.Truncated, "true or false"),
		field(fields, malformedField, &p.Malformed, "true or false"),
		field(fields, contextField, &p.Context, "numbers of tokens"),
		field(fields, handoffField, &p.Handoff, "the id of a handoff"),
		field(fields, "background_tasks", &tasks, "a list"))
	if err != nil {
		return Payload{}, err
	}
	p.BackgroundTasks = len(tasks)
	for _, raw := range tasks {
		var t Task
		_ = json.Unmarshal(raw, &t) // a task that says nothing of itself still runs
		p.Tasks = append(p.Tasks, t)
	}
	if json.Unmarshal(fields["session_crons"], &p.Crons) != nil {
		p.Crons = nil // a newer CLI may say it otherwise
	}
	if json.Unmarshal(fields["resets_at"], &p.ResetsAt) != nil { // a runtime may mean something else by that name
		p.ResetsAt = 0
	}
	if json.Unmarshal(fields["since"], &p.Since) != nil {
		p.Since = 0
	}
	p.ToolInput = fields["tool_input"]
	if c, ok := Canonical(named); named != "" && (!ok || c != event) {
		return Payload{}, fmt.Errorf("hook_event_name is %.80q, which is another event", named)
	}
	return p, nil
}

// object returns the members of the JSON object body. It does not decode into a
// struct, because that would ignore the case of the members' names, and the CLI
// does not.
func object(body []byte) (map[string]json.RawMessage, error) {
	switch trimmed := bytes.TrimLeft(body, " \t\r\n"); {
	case len(body) > MaxBody:
		return nil, fmt.Errorf("%d bytes are more than the %d that are accepted", len(body), MaxBody)
	case !utf8.Valid(body):
		return nil, errors.New("the body is not valid UTF-8")
	case len(trimmed) == 0:
		return nil, nil
	case trimmed[0] != '{':
		return nil, errors.New("the body is not a JSON object")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, fmt.Errorf("the body is not JSON: %w", err)
	}
	return fields, nil
}

func field(fields map[string]json.RawMessage, name string, to any, want string) error {
	raw, ok := fields[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("field %q must be %s", name, want)
	}
	return nil
}
