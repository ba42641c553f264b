package claude

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestPromptedAfter: the lines have the shapes and the order that Claude Code 2.1.329 writes.
func TestPromptedAfter(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 22, 6, 32, 0, 0, time.UTC)
	at := func(second int) string {
		return fmt.Sprintf(`"timestamp":%q`, began.Add(time.Duration(second)*time.Second).Format("2006-01-02T15:04:05.000Z"))
	}
	user := func(second int, text, more string) string {
		return fmt.Sprintf(`{"type":"user","message":{"role":"user","content":%q},%s%s}`, text, at(second), more)
	}
	queue := func(second int, operation, content string) string {
		return fmt.Sprintf(`{"type":"queue-operation","operation":%q,%s%s}`, operation, at(second), content)
	}
	absorbed := func(second int, text string) string {
		return fmt.Sprintf(`{"attachment":{"type":"queued_command","prompt":%q,"commandMode":"prompt"},"type":"attachment",%s}`, text, at(second))
	}
	const nonce, flaky = "[handoff_a_b_1_2]", `,"content":"fix the flaky test"`
	told := user(10, nonce+" understudy: write it", "")
	blocked := user(10, "Stop hook feedback:\n"+nonce+" understudy: write it", `,"isMeta":true`)
	since := began.Add(5 * time.Second)
	shown := func(at time.Time) bool { return !at.Before(since) && at.Before(began.Add(time.Minute)) }
	for name, tt := range map[string]struct {
		lines []string
		want  bool
	}{
		"nothing after it":              {[]string{user(1, "hello", ""), told}, false},
		"a turn of its own":             {[]string{told, queue(11, "enqueue", flaky), queue(12, "dequeue", ""), user(12, "fix the flaky test", `,"promptSource":"queued"`)}, true},
		"out of the queue, and no more": {[]string{told, queue(11, "enqueue", flaky), queue(12, "dequeue", "")}, true},
		"queued before, given later":    {[]string{queue(4, "enqueue", flaky), queue(12, "dequeue", ""), user(4, "fix the flaky test", `,"promptSource":"queued"`)}, true},
		"the nonce, out of the queue":   {[]string{queue(9, "enqueue", `,"content":"[handoff_a_b_1_2] understudy: write it"`), queue(12, "dequeue", "")}, false},
		"put into the running turn":     {[]string{told, queue(11, "enqueue", flaky), queue(12, "remove", flaky), absorbed(11, "fix the flaky test")}, true},
		"queued before, given after":    {[]string{queue(9, "enqueue", flaky), blocked, queue(12, "remove", flaky), absorbed(9, "fix the flaky test")}, true},
		"queued before, given before":   {[]string{queue(8, "enqueue", flaky), queue(9, "remove", flaky), absorbed(8, "fix the flaky test"), blocked}, false},
		"still queued":                  {[]string{queue(9, "enqueue", flaky), blocked}, true},
		"taken back":                    {[]string{told, queue(11, "enqueue", flaky), queue(12, "popAll", flaky)}, false},
		"one of two taken out":          {[]string{told, queue(11, "enqueue", `,"content":"x"`), queue(11, "enqueue", flaky), queue(12, "remove", flaky)}, true},
		"left by a session before":      {[]string{queue(-60, "enqueue", flaky), told}, false},
		"typed just before the nonce":   {[]string{user(6, "one more thing", ""), told}, false},
		"the end of a task":             {[]string{told, queue(11, "enqueue", `,"content":"<task-notification>x</task-notification>"`), user(12, "<task-notification>x</task-notification>", "")}, false},
		"a command":                     {[]string{told, user(12, "<command-name>/cost</command-name>", "")}, false},
		"interrupted":                   {[]string{told, user(12, "[Request interrupted by user]", "")}, false},
		"put in by the CLI":             {[]string{told, user(12, "Your limit has reset. Continue.", `,"isMeta":true`)}, false},
		"the gist of a compaction":      {[]string{told, user(12, "This session is being continued.", `,"isCompactSummary":true`)}, false},
		"a result of a tool":            {[]string{told, `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"x"}]},` + at(12) + `}`}, false},
		"of a subagent":                 {[]string{told, user(12, "look it up", `,"isSidechain":true`)}, false},
		"the nonce is too far back":     {[]string{user(12, "one more thing", "")}, true},
		"before the clock was set back": {[]string{user(120, "one more thing", "")}, false},
		"before the nonce, far back":    {[]string{user(4, "one more thing", "")}, false},
		"a document of after the talk":  {[]string{user(-5, nonce+" understudy: write it", ""), user(-4, "here, please", "")}, false},
	} {
		got := Runtime.PromptedAfter([]byte(strings.Join(tt.lines, "\n")+"\n"), nonce, since, shown, began.Add(-time.Second))
		equal(t, name, got, tt.want)
	}
}

// TestPrompted: each prompt counts, and no text that the CLI writes by itself.
func TestPrompted(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"": false,
		`{"type":"user","message":{"role":"user","content":"[handoff_a_b_1_2] understudy: write it"}}`:                   true,
		`{"attachment":{"type":"queued_command","prompt":"one more thing","commandMode":"prompt"},"type":"attachment"}`:  true,
		`{"type":"user","isMeta":true,"message":{"role":"user","content":"<local-command-caveat>x"}}`:                    false,
		`{"type":"user","isSidechain":true,"message":{"role":"user","content":"look it up"}}`:                            false,
		`{"type":"user","isCompactSummary":true,"message":{"role":"user","content":"This session is being continued."}}`: false,
		`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"x"}]}}`:                     false,
		`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"Hello."}]}}`:                false,
	} {
		equal(t, line, Runtime.Prompted([]byte(line+"\n")), want)
	}
}
