package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/runtimes/codex"
	"github.com/understudyd/understudy/daemon/runtimes/omp"
	"github.com/understudyd/understudy/daemon/runtimes/opencode"
)

const (
	readDocument = "/data/handoffs/20261120T141500-00000007.md"
	readContext  = "/data/handoffs/20261120T141500-00000007.context.md"
	readNonce    = "handoff_a_b_1_00c0ffee"
)

// A transcript is made of a prompt, and then calls and their results; fill writes them as a runtime does.
func TestReadingOfEachRuntime(t *testing.T) {
	t.Parallel()
	prompt := "[" + readNonce + "] understudy: read both"
	claudeCall := func(tool, key string) func(string, string, bool) string {
		return func(id, value string, ok bool) string {
			return fmt.Sprintf(`{"type":"assistant","message":{"role":"assistant","id":"m","content":[{"type":"tool_use","id":%q,"name":%q,"input":{%q:%q}}]}}`+"\n", id, tool, key, value) +
				fmt.Sprintf(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"x","is_error":%t}]}}`+"\n", id, !ok)
		}
	}
	claudePrompt := `{"type":"user","message":{"role":"user","content":"` + prompt + `"}}` + "\n"
	codexCall := func(id, command string, ok bool) string {
		code := 0
		if !ok {
			code = 1
		}
		return fmt.Sprintf(`{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":%q,"call_id":%q}}`+"\n", fmt.Sprintf(`{"cmd":%q}`, command), id) +
			fmt.Sprintf(`{"type":"response_item","payload":{"type":"function_call_output","call_id":%q,"output":"Chunk ID: a\nProcess exited with code %d\nOutput:\nx"}}`+"\n", id, code)
	}
	ompCall := func(tool, key string) func(string, string, bool) string {
		return func(id, value string, ok bool) string {
			return fmt.Sprintf(`{"type":"message","id":"1","message":{"role":"assistant","content":[{"type":"toolCall","id":%q,"name":%q,"arguments":{%q:%q}}]}}`+"\n", id, tool, key, value) +
				fmt.Sprintf(`{"type":"message","id":"2","message":{"role":"toolResult","toolCallId":%q,"isError":%t,"content":[{"type":"text","text":"x"}]}}`+"\n", id, !ok)
		}
	}
	ompPrompt := `{"type":"message","id":"0","message":{"role":"user","content":"` + prompt + `"}}` + "\n"
	for name, tt := range map[string]struct {
		rt     *runtimes.Runtime
		prompt string
		call   func(id, value string, ok bool) string
		value  func(path string) string
	}{
		"claude, tool":    {claude.Runtime, claudePrompt, claudeCall("Read", "file_path"), asItIs},
		"claude, command": {claude.Runtime, claudePrompt, claudeCall("Bash", "command"), cat},
		"opencode, tool":  {opencode.Runtime, claudePrompt, claudeCall("read", "file_path"), asItIs},
		"codex":           {codex.Runtime, `{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"` + prompt + `"}]}}` + "\n", codexCall, cat},
		"omp, tool":       {omp.Runtime, ompPrompt, ompCall("read", "path"), func(path string) string { return path + ":1-200" }},
		"omp, command":    {omp.Runtime, ompPrompt, ompCall("bash", "command"), cat},
	} {
		r := tt.rt.Reading(readNonce, []string{readDocument, readContext})
		r.Add([]byte(tt.call("c0", tt.value(readDocument), true)))
		if r.Prompted() || len(r.Left()) != 2 {
			t.Errorf("%s: before the prompt: %v, left %q", name, r.Prompted(), r.Left())
		}
		r.Add([]byte(tt.prompt + tt.call("c1", tt.value(readContext), false)))
		if !r.Prompted() || len(r.Left()) != 2 {
			t.Errorf("%s: after a call that failed: %v, left %q", name, r.Prompted(), r.Left())
		}
		all := tt.call("c2", tt.value(readDocument), true)
		first, second, _ := strings.Cut(all, "\n")
		if r.Add([]byte(first + "\n")); len(r.Left()) != 2 {
			t.Errorf("%s: a call without a result counts", name)
		}
		if r.Add([]byte(second)); !slices.Equal(r.Left(), []string{readContext}) {
			t.Errorf("%s: after the document: left %q", name, r.Left())
		}
		if r.Add([]byte(tt.call("c3", tt.value(readContext), true))); len(r.Left()) != 0 {
			t.Errorf("%s: after both: left %q", name, r.Left())
		}
	}
}

func asItIs(path string) string { return path }
func cat(path string) string    { return "cd /work && cat '" + path + "'" }
