package actor

import (
	"maps"
	"strings"
)

// Fields are the members of a JSON object: a hook's payload, or an object in it.
type Fields map[string]any

// Hooks makes the payloads of an agent's hooks as Claude Code does. The recording of Claude Code's hooks in
// hooks/hookstest shows the fields of each payload.
type Hooks struct {
	Name  string // the session's title; "": the session has none
	Model string
	Mode  string // permission mode
}

// Task is a command that runs in the background, as the payload of a Stop hook lists it.
type Task struct {
	ID          string `json:"id"`
	Type        string `json:"type"`
	Status      string `json:"status"`
	Description string `json:"description"`
	Command     string `json:"command"`
}

// Payload returns the payload of a hook: the fields that all payloads have, and those in more. promptID is "" before the
// first prompt of a session.
func Payload(event, session, transcript, cwd, promptID string, more Fields) Fields {
	all := Fields{"session_id": session, "transcript_path": transcript, "cwd": cwd, "hook_event_name": event}
	if promptID != "" {
		all["prompt_id"] = promptID
	}
	maps.Copy(all, more)
	return all
}

func (h Hooks) titled(f Fields) Fields {
	if h.Name != "" {
		f["session_title"] = h.Name
	}
	return f
}

// SessionStart returns the fields for the beginning of a session. tokens is the size of the context if the session is
// resumed or copied.
func (h Hooks) SessionStart(source string, tokens int) Fields {
	f := h.titled(Fields{"source": source})
	switch source {
	case "startup", "compact":
		f["model"] = h.Model
	case "resume", "fork":
		f["context_tokens"], f["estimated_cache_write_usd"] = tokens, float64(tokens)*5e-6
		f["prompt_cache_likely_expired"], f["seconds_since_last_response"] = false, 1
	}
	return f
}

// SessionEnd returns the fields for the end of a session.
func (h Hooks) SessionEnd(reason string) Fields { return Fields{"reason": reason} }

// UserPromptSubmit returns the fields for a prompt that was submitted.
func (h Hooks) UserPromptSubmit(prompt string) Fields {
	return h.titled(Fields{"prompt": prompt, "permission_mode": h.Mode})
}

// Stop returns the fields for the end of a turn. The field last_assistant_message is the answer without the blanks around
// it. If there is no answer, that field is missing.
func (h Hooks) Stop(active bool, last string, tasks []Task) Fields {
	f := h.effort(Fields{
		"stop_hook_active": active, "permission_mode": h.Mode, "background_tasks": append([]Task{}, tasks...), "session_crons": []string{},
	})
	if last = strings.TrimSpace(last); last != "" {
		f["last_assistant_message"] = last
	}
	return f
}

// StopFailure returns the fields for a turn that ended with an error of the API. kind is the kind of the error, shown the
// text on the screen.
func (h Hooks) StopFailure(kind, shown string) Fields {
	return h.effort(Fields{"error": kind, "last_assistant_message": shown})
}

// Tool returns the fields that all hooks of a tool call have, and those in more.
func (h Hooks) Tool(name string, input, more Fields) Fields {
	f := h.effort(Fields{"tool_name": name, "tool_input": input, "permission_mode": h.Mode})
	maps.Copy(f, more)
	return f
}

// ToolBatch returns the fields for the end of all tool calls of a message.
func (h Hooks) ToolBatch(calls ...Fields) Fields {
	return h.effort(Fields{"tool_calls": calls, "permission_mode": h.Mode})
}

// PermissionRequest returns the fields for a request to call a tool. edits is true if the tool edits files; otherwise the
// tool runs a command.
func (h Hooks) PermissionRequest(name string, input Fields, edits bool) Fields {
	suggestion := Fields{"type": "setMode", "mode": "acceptEdits", "destination": "session"}
	if !edits {
		suggestion = Fields{"type": "addRules", "behavior": "allow", "destination": "localSettings",
			"rules": []Fields{{"toolName": name, "ruleContent": input["command"]}}}
	}
	return h.Tool(name, input, Fields{"permission_suggestions": []Fields{suggestion}})
}

// PermissionPrompt returns the fields of the notification that reminds of a dialog that has been open for a while.
func (h Hooks) PermissionPrompt() Fields {
	return Fields{"notification_type": "permission_prompt", "message": "Claude needs your permission"}
}

func (h Hooks) effort(f Fields) Fields {
	f["effort"] = Fields{"level": "medium"}
	return f
}
