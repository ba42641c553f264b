package catalog

import (
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// The lines are as the CLIs of the tested versions wrote them, without the fields that nobody reads.
var todoTranscripts = []struct {
	name, runtime string
	lines         []string
	want          []runtimes.Todo
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
	}, []runtimes.Todo{{Text: "Test the parser well", Status: runtimes.TodoInProgress}, {Text: "Say so", Status: runtimes.TodoPending}}},
	{"a task that was looked up", "claude", []string{
		`{"type":"user","message":{"role":"user","content":[]},"toolUseResult":{"task":{"id":"1","subject":"Old","status":"in_progress"}}}`,
		`{"type":"user","message":{"role":"user","content":[]},"toolUseResult":{"task":{"id":"1","subject":"New","status":"pending"}}}`,
		`{"type":"user","message":{"role":"user","content":[]},"toolUseResult":{"task":{"task_id":"b1","description":"a command in the background"}}}`,
	}, []runtimes.Todo{{Text: "New", Status: runtimes.TodoPending}}},
	{"the whole list", "claude", []string{
		`{"type":"user","message":{"role":"user","content":[]},"toolUseResult":{"task":{"id":"1","subject":"Before"}}}`,
		`{"type":"assistant","message":{"role":"assistant","content":[{"id":"c1","input":{"todos":[{"activeForm":"Doing a","content":"a","status":"pending"},{"content":"b","status":"completed"},{"content":"c","status":"in_progress"},{"content":" ","status":"pending"},{"content":"d","status":"later"}]},"name":"TodoWrite","type":"tool_use"}]}}`,
		`{"type":"assistant","message":{"role":"assistant","content":[{"id":"c2","input":{"todos":null},"name":"TodoWrite","type":"tool_use"}]}}`,
		`{"type":"assistant","message":{"role":"assistant","content":[{"id":"c3","input":{"todos":[]},"name":"Other","type":"tool_use"}]}}`,
	}, []runtimes.Todo{{Text: "a", Status: runtimes.TodoPending}, {Text: "c", Status: runtimes.TodoInProgress}, {Text: "d", Status: runtimes.TodoPending}}},
	{"all done", "claude", []string{
		`{"type":"assistant","message":{"role":"assistant","content":[{"id":"c1","input":{"todos":[{"content":"a","status":"pending"}]},"name":"TodoWrite","type":"tool_use"}]}}`,
		`{"type":"assistant","message":{"role":"assistant","content":[{"id":"c2","input":{"todos":[]},"name":"TodoWrite","type":"tool_use"}]}}`,
	}, nil},
	{"plan", "codex", []string{
		`{"type":"response_item","payload":{"type":"function_call","name":"update_plan","arguments":"{\"plan\":[{\"step\":\"old\",\"status\":\"pending\"}]}","call_id":"c1"}}`,
		`{"type":"response_item","payload":{"type":"function_call","name":"update_plan","arguments":"{\"explanation\":\"why\",\"plan\":[{\"status\":\"completed\",\"step\":\"a\"},{\"status\":\"in_progress\",\"step\":\"b\"},{\"status\":\"pending\",\"step\":\"c\"}]}","call_id":"c2"}}`,
		`{"type":"response_item","payload":{"type":"function_call_output","call_id":"c2","output":"Plan updated"}}`,
		`{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"plan\":[]}","call_id":"c3"}}`,
	}, []runtimes.Todo{{Text: "b", Status: runtimes.TodoInProgress}, {Text: "c", Status: runtimes.TodoPending}}},
	{"todo", "omp", []string{
		`{"type":"message","message":{"role":"toolResult","toolCallId":"c1","toolName":"todo","content":[],"details":{"op":"init","phases":[{"name":"One","tasks":[{"content":"a","status":"in_progress"}]}]},"isError":false}}`,
		`{"type":"message","message":{"role":"toolResult","toolCallId":"c2","toolName":"todo","content":[],"details":{"op":"done","phases":[{"name":"One","tasks":[{"content":"a","status":"completed"},{"content":"b","status":"abandoned"},{"content":"c","status":"blocked"}]},{"name":"Two","tasks":[{"content":"d","status":"in_progress"}]}],"storage":"session"},"isError":false}}`,
		`{"type":"message","message":{"role":"toolResult","toolCallId":"c3","toolName":"todo","content":[],"details":{"phases":[]},"isError":true}}`,
		`{"type":"message","message":{"role":"toolResult","toolCallId":"c4","toolName":"other","content":[],"details":{"phases":[]},"isError":false}}`,
	}, []runtimes.Todo{{Text: "c", Status: runtimes.TodoPending}, {Text: "d", Status: runtimes.TodoInProgress}}},
	{"write_todos", "gemini", []string{
		`{"id":"a","type":"gemini","content":"","model":"gemini-2.5-pro","toolCalls":[{"id":"c1","name":"write_todos","args":{"todos":[{"description":"a","status":"pending"}]},"status":"success"}]}`,
		`{"id":"b","type":"gemini","content":"","model":"gemini-2.5-pro","toolCalls":[{"id":"c2","name":"write_todos","args":{"todos":[{"description":"a","status":"completed"},{"description":"b","status":"in_progress"},{"description":"c","status":"blocked"},{"description":"d","status":"cancelled"}]},"status":"success"}]}`,
		`{"id":"c","type":"gemini","content":"","model":"gemini-2.5-pro","toolCalls":[{"id":"c3","name":"other","args":{"todos":[]},"status":"success"}]}`,
	}, []runtimes.Todo{{Text: "b", Status: runtimes.TodoInProgress}, {Text: "c", Status: runtimes.TodoPending}}},
}

func TestOpenTodosOfATranscript(t *testing.T) {
	t.Parallel()
	for _, tt := range todoTranscripts {
		rt := value(For(tt.runtime))(t)
		var changes []runtimes.TodoChange
		for _, line := range tt.lines {
			e, err := rt.ParseEntry([]byte(line))
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			changes = append(changes, e.Todos...)
		}
		equal(t, tt.name+" of "+tt.runtime, runtimes.OpenTodos(changes), tt.want)
		if rt.Can.Todos == "" {
			t.Errorf("the table says that %s shows no todos", tt.runtime)
		}
	}
}
