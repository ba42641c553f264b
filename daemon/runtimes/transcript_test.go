package runtimes

import (
	"fmt"
	"testing"
	"time"
)

// TestTranscriptHasPrompt: a message was once called submitted because its text stood somewhere in
// the transcript: in another text, or from long before.
func TestTranscriptHasPrompt(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 11, 20, 12, 0, 0, 123_456_789, time.UTC)
	user := func(at time.Time, text string) string {
		return fmt.Sprintf(`{"type":"user","timestamp":%q,"message":{"role":"user","content":%q}}`+"\n", at.Format("2006-01-02T15:04:05.000Z"), text)
	}
	later := since.Add(time.Second)
	const at = `"timestamp":"2026-11-20T12:00:01.000Z"`
	for name, tt := range map[string]struct {
		jsonl, text string
		want        bool
	}{
		"the whole text":       {user(later, "go on"), "go on", true},
		"in the same instant":  {user(since, "go on"), "go on", true}, // a transcript knows milliseconds
		"as the composer does": {user(later, "go on\nthere    now"), " go on\r\nthere\tnow ", true},
		"pasted":               {user(later, "\n\n<pasted_content id=\"c2ff\">\na\nb\nc\nd\n</pasted_content id=\"c2ff\">\n"), "a\nb\nc\nd", true},
		"quoted":               {user(later, "Noted: <pasted_content id=\"c2ff\"> a … go on"), "Noted: <pasted_content id=\"c2ff\"> a … go on", true},
		"blocks":               {`{"type":"user",` + at + `,"message":{"role":"user","content":[{"type":"text","text":"go on"}]}}`, "go on", true},
		"put into a turn":      {`{"type":"attachment",` + at + `,"attachment":{"type":"queued_command","prompt":"go on"}}`, "go on", true},
		"among others":         {user(since.Add(-time.Hour), "go on") + user(later, "stop") + user(later, "go on"), "go on", true},
		"said before":          {user(since.Add(-time.Second), "go on"), "go on", false},
		"in another text":      {user(later, "do not go on like this"), "go on", false},
		"the beginning":        {user(later, "go"), "go on", false},
		"without a time":       {`{"type":"user","message":{"role":"user","content":"go on"}}`, "go on", false},
		"told to a subagent":   {`{"type":"user","isSidechain":true,` + at + `,"message":{"role":"user","content":"go on"}}`, "go on", false},
		"said by the model":    {`{"type":"assistant",` + at + `,"message":{"role":"assistant","content":"go on"}}`, "go on", false},
		"cut off":              {user(later, "go on")[:40], "go on", false},
		"no text":              {user(later, " "), " ", false},
		"empty":                {"", "go on", false},
	} {
		if got := TranscriptHasPrompt([]byte(tt.jsonl), tt.text, since); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
