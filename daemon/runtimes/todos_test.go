package runtimes

import (
	"slices"
	"strings"
	"testing"
)

// The lines are as the CLIs of the tested versions wrote them, without the fields that nobody reads.
var todoTranscripts = []struct {
	name, runtime string
	lines         []string
	want          []Todo
}{
	{"tasks", "claude", []string{
		`{"type":"assistant","effort":"low","message":{"role":"assistant","content":[{"id":"c1","input":{"description":"All of it","subject":"Write the parser"},"name":"TaskCreate","type":"tool_use"}]}}`,
		`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"c1","type":"tool_result","content":"Task #1 created successfully: Write the parser"}]},"toolUseResult":{"task":{"id":"1","subject":"Write the parser","description":"All of it"}}}`,
		`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"c2","type":"tool_result"}]},"toolUseResult":{"task":{"id":"2","subject":"Test the parser"}}}`,
		`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"c3","type":"tool_result"}]},"toolUseResult":{"task":{"id":"3","subject":"Drop it"}}}`,
		`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"c0","type":"tool_result"}]},"toolUseResult":{"task":{"id":"4","subject":"Say\nso"}}}`,
		`{"type":"assistant","message":{"role":"assistant","content":[{"id":"c4","input":{"status":"completed","taskId":"1"},"name":"TaskUpdate","type":"tool_use"}]}}`,
		`{"type":"assistant","message":{"role":"assistant","content":[{"id":"c5","input":{"status":"in_progress","subject":"Test the parser well","taskId":"2"},"name":"TaskUpdate","type":"tool_use"}]}}`,
		`{"type":"assistant","message":{"role":"assistant","content":[{"id":"c6","input":{"status":"deleted","taskId":"3"},"name":"TaskUpdate","type":"tool_use"}]}}`,
		`{"type":"assistant","message":{"role":"assistant","content":[{"id":"c7","input":{"status":"pending","subject":"Nobody","taskId":"9"},"name":"TaskUpdate","type":"tool_use"}]}}`,
		`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"c7","type":"tool_result","content":"Task not found"}]},"toolUseResult":{"success":false,"taskId":"9","error":"Task not found"}}`,
		`{"type":"user","isSidechain":true,"message":{"role":"user","content":[]},"toolUseResult":{"task":{"id":"5","subject":"Of a sub-agent"}}}`,
	}, []Todo{{"Test the parser well", TodoInProgress}, {"Say so", TodoPending}}},
	{"a task that was looked up", "claude", []string{
		`{"type":"user","message":{"role":"user","content":[]},"toolUseResult":{"task":{"id":"1","subject":"Old","status":"in_progress"}}}`,
		`{"type":"user","message":{"role":"user","content":[]},"toolUseResult":{"task":{"id":"1","subject":"New","status":"pending"}}}`,
		`{"type":"user","message":{"role":"user","content":[]},"toolUseResult":{"task":{"task_id":"b1","description":"a command in the background"}}}`,
	}, []Todo{{"New", TodoPending}}},
	{"the whole list", "claude", []string{
		`{"type":"user","message":{"role":"user","content":[]},"toolUseResult":{"task":{"id":"1","subject":"Before"}}}`,
		`{"type":"assistant","message":{"role":"assistant","content":[{"id":"c1","input":{"todos":[{"activeForm":"Doing a","content":"a","status":"pending"},{"content":"b","status":"completed"},{"content":"c","status":"in_progress"},{"content":" ","status":"pending"},{"content":"d","status":"later"}]},"name":"TodoWrite","type":"tool_use"}]}}`,
		`{"type":"assistant","message":{"role":"assistant","content":[{"id":"c2","input":{"todos":null},"name":"TodoWrite","type":"tool_use"}]}}`,
		`{"type":"assistant","message":{"role":"assistant","content":[{"id":"c3","input":{"todos":[]},"name":"Other","type":"tool_use"}]}}`,
	}, []Todo{{"a", TodoPending}, {"c", TodoInProgress}, {"d", TodoPending}}},
	{"all done", "claude", []string{
		`{"type":"assistant","message":{"role":"assistant","content":[{"id":"c1","input":{"todos":[{"content":"a","status":"pending"}]},"name":"TodoWrite","type":"tool_use"}]}}`,
		`{"type":"assistant","message":{"role":"assistant","content":[{"id":"c2","input":{"todos":[]},"name":"TodoWrite","type":"tool_use"}]}}`,
	}, nil},
	{"plan", "codex", []string{
		`{"type":"response_item","payload":{"type":"function_call","name":"update_plan","arguments":"{\"plan\":[{\"step\":\"old\",\"status\":\"pending\"}]}","call_id":"c1"}}`,
		`{"type":"response_item","payload":{"type":"function_call","name":"update_plan","arguments":"{\"explanation\":\"why\",\"plan\":[{\"status\":\"completed\",\"step\":\"a\"},{\"status\":\"in_progress\",\"step\":\"b\"},{\"status\":\"pending\",\"step\":\"c\"}]}","call_id":"c2"}}`,
		`{"type":"response_item","payload":{"type":"function_call_output","call_id":"c2","output":"Plan updated"}}`,
		`{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"plan\":[]}","call_id":"c3"}}`,
	}, []Todo{{"b", TodoInProgress}, {"c", TodoPending}}},
	{"todo", "omp", []string{
		`{"type":"message","message":{"role":"toolResult","toolCallId":"c1","toolName":"todo","content":[],"details":{"op":"init","phases":[{"name":"One","tasks":[{"content":"a","status":"in_progress"}]}]},"isError":false}}`,
		`{"type":"message","message":{"role":"toolResult","toolCallId":"c2","toolName":"todo","content":[],"details":{"op":"done","phases":[{"name":"One","tasks":[{"content":"a","status":"completed"},{"content":"b","status":"abandoned"},{"content":"c","status":"blocked"}]},{"name":"Two","tasks":[{"content":"d","status":"in_progress"}]}],"storage":"session"},"isError":false}}`,
		`{"type":"message","message":{"role":"toolResult","toolCallId":"c3","toolName":"todo","content":[],"details":{"phases":[]},"isError":true}}`,
		`{"type":"message","message":{"role":"toolResult","toolCallId":"c4","toolName":"other","content":[],"details":{"phases":[]},"isError":false}}`,
	}, []Todo{{"c", TodoPending}, {"d", TodoInProgress}}},
	{"write_todos", "gemini", []string{
		`{"id":"a","type":"gemini","content":"","model":"gemini-2.5-pro","toolCalls":[{"id":"c1","name":"write_todos","args":{"todos":[{"description":"a","status":"pending"}]},"status":"success"}]}`,
		`{"id":"b","type":"gemini","content":"","model":"gemini-2.5-pro","toolCalls":[{"id":"c2","name":"write_todos","args":{"todos":[{"description":"a","status":"completed"},{"description":"b","status":"in_progress"},{"description":"c","status":"blocked"},{"description":"d","status":"cancelled"}]},"status":"success"}]}`,
		`{"id":"c","type":"gemini","content":"","model":"gemini-2.5-pro","toolCalls":[{"id":"c3","name":"other","args":{"todos":[]},"status":"success"}]}`,
	}, []Todo{{"b", TodoInProgress}, {"c", TodoPending}}},
}

func TestOpenTodosOfATranscript(t *testing.T) {
	t.Parallel()
	for _, tt := range todoTranscripts {
		rt, err := For(tt.runtime)
		if err != nil {
			t.Fatal(err)
		}
		var changes []TodoChange
		for _, line := range tt.lines {
			e, err := rt.ParseEntry([]byte(line))
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			changes = append(changes, e.Todos...)
		}
		if got := OpenTodos(changes); !slices.Equal(got, tt.want) {
			t.Errorf("%s of %s: %q, want %q", tt.name, tt.runtime, got, tt.want)
		}
		if rt.Can.Todos == "" {
			t.Errorf("the table says that %s shows no todos", tt.runtime)
		}
	}
}

// TestCodexRefusedPlan: without its setting the CLI refuses the call, and says so in the output alone.
func TestCodexRefusedPlan(t *testing.T) {
	t.Parallel()
	e, err := codex.ParseEntry([]byte(`{"type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"unsupported call: update_plan"}}`))
	if err != nil || !slices.Equal(e.Failed, []string{"c1"}) {
		t.Errorf("failed calls %q, %v", e.Failed, err)
	}
}

func TestOpencodeMirrorShowsTodos(t *testing.T) {
	t.Parallel()
	part := OpencodePart{Type: "tool", Tool: "todowrite", CallID: "c1"}
	part.State.Status = "completed"
	part.State.Input.Todos = []byte(`[{"content":"a","id":"1","priority":"high","status":"completed"},{"content":"b","status":"in_progress"},{"content":"c","status":"cancelled"}]`)
	m := OpencodeMessage{Info: OpencodeInfo{Role: "assistant", ID: "m1"}, Parts: []OpencodePart{part}}
	var changes []TodoChange
	for line := range strings.Lines(string(m.lines("s", true, false))) {
		e, err := opencode.ParseEntry([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		changes = append(changes, e.Todos...)
	}
	if got := OpenTodos(changes); !slices.Equal(got, []Todo{{"b", TodoInProgress}}) {
		t.Errorf("todos %q of %+v", got, changes)
	}
	if opencode.Can.Todos == "" {
		t.Error("the table says that OpenCode shows no todos")
	}
}

// TestEffortIsKept: an answer shows its thinking level; a launch names it in place of the level in the options, and a copy
// names it too.
func TestEffortIsKept(t *testing.T) {
	t.Parallel()
	e, err := claude.ParseEntry([]byte(todoTranscripts[0].lines[0]))
	if err != nil || e.Effort != "low" {
		t.Errorf("level %q, %v", e.Effort, err)
	}
	spec := Spec{Command: []string{"claude"}, SessionID: "0a273dc6-ef5e-4e72-92d8-ad9bb55f6f1a", Dir: "/d", Options: []string{"--effort", "high", "--verbose"}, Effort: "low"}
	l, err := claude.Launch(spec)
	if got := strings.Join(l.Argv[3:], " "); err != nil || got != "--verbose --effort low" {
		t.Errorf("launch %q, %v", got, err)
	}
	spec.Effort = "--dangerously-skip-permissions"
	if _, err := claude.Launch(spec); err == nil {
		t.Error("a launch takes a level that is none")
	}
	f, err := claude.Fork(ForkSpec{Command: []string{"claude"}, SessionID: spec.SessionID, Effort: "low"})
	if i := slices.Index(f.Argv, "--effort"); err != nil || i < 0 || f.Argv[i+1] != "low" {
		t.Errorf("fork %q, %v", f.Argv, err)
	}
}
