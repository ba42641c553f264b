package hooks

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, want string
		ok       bool
	}{
		{"SessionStart", SessionStart, true},
		{"session-start", SessionStart, true},
		{"sessionstart", SessionStart, true},
		{"stop", Stop, true},
		{"pre-model-switch", "PreModelSwitch", true},
		{"FutureEvent2", "FutureEvent2", true},
		{"future-event2", "FutureEvent2", true},
		{"", "", false},
		{"-", "", false},
		{"session--start", "", false},
		{"session-", "", false},
		{"Session-Start", "", false},
		{"session-Start", "", false},
		{"future-Event", "", false},
		{"Stop\n", "", false},
		{"../Stop", "", false},
		{"Stop/x", "", false},
		{"2Stop", "", false},
		{"Stöp", "", false},
		{strings.Repeat("A", 64), strings.Repeat("A", 64), true},
		{strings.Repeat("A", 65), "", false},
	} {
		got, ok := Canonical(c.in)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("Canonical(%q) = %q, %v; want %q, %v", c.in, got, ok, c.want, c.ok)
		}
	}
	equal(t, "known events", len(names), 33)
	for _, name := range names {
		var kebab strings.Builder
		for i, c := range name {
			if i > 0 && 'A' <= c && c <= 'Z' {
				kebab.WriteByte('-')
			}
			kebab.WriteString(strings.ToLower(string(c)))
		}
		if got, ok := Canonical(kebab.String()); !ok || got != name || !Known(got) {
			t.Errorf("Canonical(%q) = %q, %v", kebab.String(), got, ok)
		}
	}
}

// captured returns payloads of Claude Code 2.1.329, by event.
func captured(t testing.TB) (all map[string]json.RawMessage) {
	t.Helper()
	text := value(os.ReadFile("testdata/payloads.json"))(t)
	must(t, json.Unmarshal(text, &all))
	return all
}

func TestParseCaptured(t *testing.T) {
	t.Parallel()
	parsed := map[string]map[string]any{}
	for name, body := range captured(t) {
		event, _, _ := strings.Cut(name, ".")
		p, err := Parse(event, body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		parsed[name] = nonZero(p)
	}
	got := value(json.MarshalIndent(parsed, "", " "))(t)
	golden(t, "testdata/payloads.golden", append(got, '\n'))
}

// nonZero returns the fields of p that are not zero.
func nonZero(p Payload) map[string]any {
	fields := map[string]any{}
	v := reflect.ValueOf(p)
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			fields[v.Type().Field(i).Name] = v.Field(i).Interface()
		}
	}
	return fields
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, event, body, wrong string }{
		{"empty body", "Stop", "", ""},
		{"null fields", "Stop", `{"session_id":null,"background_tasks":null,"stop_hook_active":null}`, ""},
		{"a reset in another form", "StopFailure", `{"resets_at":"soon"}`, ""},
		{"unknown fields", "Stop", `{"x":{"y":[1]},"SESSION_ID":5}`, ""},
		{"other spelling", "session-end", `{"hook_event_name":"SessionEnd"}`, ""},
		{"unknown event", "FutureEvent", `{"hook_event_name":"FutureEvent"}`, ""},
		{"other event", "Stop", `{"hook_event_name":"SessionEnd"}`, "another event"},
		{"bad event", "../x", `{}`, "not a name"},
		{"number for string", "Stop", `{"session_id":5}`, `field "session_id" must be a string`},
		{"string for bool", "Stop", `{"stop_hook_active":"yes"}`, `"stop_hook_active" must be true or false`},
		{"object for list", "Stop", `{"background_tasks":{}}`, `"background_tasks" must be a list`},
		{"list", "Stop", `[]`, "not a JSON object"},
		{"null", "Stop", `null`, "not a JSON object"},
		{"cut off", "Stop", `{"session_id":"a`, "not JSON"},
		{"two values", "Stop", `{}{}`, "not JSON"},
		{"bad UTF-8", "Stop", "{\"prompt\":\"\xff\"}", "UTF-8"},
		{"too large", "Stop", `{"prompt":"` + strings.Repeat("a", MaxBody) + `"}`, "more than the 1048576"},
	} {
		_, err := Parse(c.event, []byte(c.body))
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.wrong)
		}
	}
}

func FuzzParse(f *testing.F) {
	for name, body := range captured(f) {
		event, _, _ := strings.Cut(name, ".")
		f.Add(event, []byte(body))
	}
	f.Add("stop", []byte(`{"background_tasks":[null],"tool_input":null}`))
	f.Fuzz(func(t *testing.T, event string, body []byte) {
		p, err := Parse(event, body)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a sentence")
			}
			return
		}
		if name, ok := Canonical(event); !ok || p.Event != name {
			t.Errorf("event %q parsed as %q", event, p.Event)
		}
		if len(p.ToolInput) > 0 && !json.Valid(p.ToolInput) {
			t.Errorf("tool input %q", p.ToolInput)
		}
		if p.BackgroundTasks < 0 || p.BackgroundTasks > len(body) {
			t.Errorf("%d tasks in %d bytes", p.BackgroundTasks, len(body))
		}
	})
}
