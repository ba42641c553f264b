package claude

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestTranscriptHasPrompt: the daemon once took a message for submitted because the transcript had its text
// inside another prompt, or from long before.
func TestTranscriptHasPrompt(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 11, 20, 12, 0, 0, 123_456_789, time.UTC)
	user := func(at time.Time, text string) string {
		return fmt.Sprintf(`{"type":"user","timestamp":%q,"message":{"role":"user","content":%q}}`+"\n", at.Format("2006-01-02T15:04:05.000Z"), text)
	}
	refused := func(at time.Time, text string) string {
		return fmt.Sprintf(`{"type":"system","subtype":"informational","timestamp":%q,"content":%q}`+"\n", at.Format("2006-01-02T15:04:05.000Z"),
			blocked+"closed"+original+text)
	}
	later := since.Add(time.Second)
	const at = `"timestamp":"2026-11-20T12:00:01.000Z"`
	for name, tt := range map[string]struct {
		jsonl, text string
		want        bool
	}{
		"the whole text":                   {user(later, "go on"), "go on", true},
		"as the composer does":             {user(later, "go on\nthere    now"), " go on\r\nthere\tnow ", true},
		"pasted":                           {user(later, "\n\n<pasted_content id=\"c2ff\">\na\nb\nc\nd\n</pasted_content id=\"c2ff\">\n"), "a\nb\nc\nd", true},
		"quoted":                           {user(later, "Noted: <pasted_content id=\"c2ff\"> a … go on"), "Noted: <pasted_content id=\"c2ff\"> a … go on", true},
		"blocks":                           {`{"type":"user",` + at + `,"message":{"role":"user","content":[{"type":"text","text":"go on"}]}}`, "go on", true},
		"put into a turn":                  {`{"type":"attachment",` + at + `,"attachment":{"type":"queued_command","prompt":"go on"}}`, "go on", true},
		"among others":                     {user(since.Add(-time.Hour), "go on") + user(later, "stop") + user(later, "go on"), "go on", true},
		"said before":                      {user(since.Add(-time.Second), "go on"), "go on", false},
		"in another text":                  {user(later, "do not go on like this"), "go on", false},
		"the beginning":                    {user(later, "go"), "go on", false},
		"without a time":                   {`{"type":"user","message":{"role":"user","content":"go on"}}`, "go on", false},
		"told to a subagent":               {`{"type":"user","isSidechain":true,` + at + `,"message":{"role":"user","content":"go on"}}`, "go on", false},
		"said by the model":                {`{"type":"assistant",` + at + `,"message":{"role":"assistant","content":"go on"}}`, "go on", false},
		"cut off":                          {user(later, "go on")[:40], "go on", false},
		"refused, and submitted with more": {refused(later, "go on") + user(later, "go on with the roof"), "go on", true},
		"refused twice":                    {refused(later, "go on") + refused(later, "go on with") + user(later, "go on with the roof"), "go on", true},
		"refused, and within another one":  {refused(later, "go on") + user(later, "do not go on like this"), "go on", false},
		"another one was refused":          {refused(later, "go") + user(later, "go on with the roof"), "go on", false},
		"refused behind it":                {user(later, "go on with the roof") + refused(later, "go on"), "go on", false},
		"no text":                          {user(later, " "), " ", false},
		"empty":                            {"", "go on", false},
	} {
		equal(t, name, Runtime.TranscriptHasPrompt([]byte(tt.jsonl), tt.text, since.Before), tt.want)
	}
}

// TestTranscriptContains reads lines in the shapes that the real CLI writes.
func TestTranscriptContains(t *testing.T) {
	t.Parallel()
	const nonce = "n-7f3a"
	prompt := `{"parentUuid":null,"isSidechain":false,"promptId":"p","type":"user","message":{"role":"user","content":"do n-7f3a now"},"uuid":"u"}`
	for name, tt := range map[string]struct {
		jsonl string
		want  bool
	}{
		"prompt":             {prompt + "\n", true},
		"last line open":     {`{"type":"mode"}` + "\n" + prompt, true},
		"first line cut":     {prompt[20:] + "\n" + prompt + "\n", true},
		"only cut":           {prompt[20:], false},
		"half written":       {prompt[:100], false},
		"blocks":             {`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"n-7f3a"}]}}`, true},
		"stop hook":          {`{"type":"user","isMeta":true,"message":{"role":"user","content":"Stop hook feedback:\n[n-7f3a] write"}}`, true},
		"put into a turn":    {`{"type":"attachment","attachment":{"type":"queued_command","prompt":"n-7f3a","commandMode":"prompt"}}`, true},
		"another":            {strings.ReplaceAll(prompt, nonce, "n-0000"), false},
		"said by the model":  {`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"n-7f3a"}]}}`, false},
		"read by a tool":     {`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"n-7f3a"}]}}`, false},
		"told to a subagent": {`{"type":"user","isSidechain":true,"message":{"role":"user","content":"n-7f3a"}}`, false},
		"queued":             {`{"type":"queue-operation","operation":"enqueue","content":"n-7f3a"}`, false},
		"hook output":        {`{"type":"attachment","attachment":{"type":"hook_success","stdout":"n-7f3a"}}`, false},
		"no JSON":            {"n-7f3a\nnull n-7f3a\n", false},
		"empty":              {"", false},
	} {
		equal(t, name, Runtime.TranscriptContains([]byte(tt.jsonl), nonce), tt.want)
	}
	if Runtime.TranscriptContains([]byte(prompt), "") {
		t.Error("an empty nonce is in everything")
	}
}
