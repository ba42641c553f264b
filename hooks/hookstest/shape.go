package hookstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Shape is a payload without the values that differ from run to run: such a value is replaced by its type,
// in angle brackets.
type Shape map[string]any

// Event returns the name of the hook.
func (s Shape) Event() string {
	name, _ := s["hook_event_name"].(string) // a shape without a name equals no hook of a recording
	return name
}

// kept are the fields whose values stay in a shape, because they say what has happened.
var kept = []string{
	"hook_event_name", "source", "reason", "trigger", "stop_hook_active", "notification_type", "permission_mode", "tool_name",
	"agent_type", "expansion_type", "command_name", "is_interrupt", "type", "status",
}

// Recorder makes scenes from payloads. It remembers the sessions and prompts of all scenes that it has made: a
// shape says whether an id is new, and which one of its scene it is.
type Recorder struct {
	sessions, prompts ids
}

// ids are the ids seen in earlier scenes and in the current one.
type ids struct {
	before []string
	now    []string
}

func (s *ids) name(what, id string) string {
	if slices.Contains(s.before, id) {
		return fmt.Sprintf("<%s of a scene before>", what)
	}
	if !slices.Contains(s.now, id) {
		s.now = append(s.now, id)
	}
	return fmt.Sprintf("<%s %d>", what, slices.Index(s.now, id)+1)
}

func (s *ids) next() { s.before, s.now = append(s.before, s.now...), nil }

// Scene makes a scene from the payloads of its hooks.
func (r *Recorder) Scene(name string, payloads ...[]byte) (Scene, error) {
	s := Scene{Name: name, Hooks: []Shape{}}
	for _, p := range payloads {
		shape, err := r.shape(p)
		if err != nil {
			return Scene{}, fmt.Errorf("scene %s: %w", name, err)
		}
		s.Hooks = append(s.Hooks, shape)
	}
	r.sessions.next()
	r.prompts.next()
	return s, nil
}

func (r *Recorder) shape(payload []byte) (Shape, error) {
	var fields map[string]any
	dec := json.NewDecoder(bytes.NewReader(payload))
	if err := dec.Decode(&fields); err != nil {
		return nil, fmt.Errorf("payload %.200s: %w", payload, err)
	}
	session, _ := fields["session_id"].(string) // if it is no string, its type stays in the shape
	out := Shape{}
	for name, value := range fields {
		text, isText := value.(string)
		switch {
		case name == "session_id" && isText:
			out[name] = r.sessions.name("session", text)
		case name == "prompt_id" && isText:
			out[name] = r.prompts.name("prompt", text)
		case name == "transcript_path" && session != "" && strings.HasSuffix(text, "/"+session+".jsonl"):
			out[name] = "<transcript of the session>"
		case name == "prompt" && strings.HasPrefix(text, "<task-notification>"):
			out[name] = "<task notification>"
		case name == "error" && fields["hook_event_name"] == "StopFailure":
			out[name] = value // a code; the error of a tool is a free text
		default:
			out[name] = reduce(name, value)
		}
	}
	return out, nil
}

// reduce replaces the values that differ from run to run.
func reduce(name string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for field, inner := range v {
			out[field] = reduce(field, inner)
		}
		return out
	case []any:
		out := []any{}
		for _, inner := range v {
			out = append(out, reduce(name, inner))
		}
		return out
	}
	if slices.Contains(kept, name) {
		return value
	}
	return typeOf(value)
}

func typeOf(value any) any {
	switch value.(type) {
	case string:
		return "<string>"
	case float64:
		return "<number>"
	case bool:
		return "<bool>"
	}
	return value // null
}
