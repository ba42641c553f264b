package transcript

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/transcript/transcripttest"
	"github.com/understudyd/understudy/data"
)

// todoWrite is a call that gives the whole list, all pending.
func todoWrite(call string, texts ...string) string {
	var list []map[string]string
	for _, text := range texts {
		list = append(list, map[string]string{"content": text, "status": "pending"})
	}
	b, _ := json.Marshal(list) // texts cannot fail
	return fmt.Sprintf(`{"type":"assistant","effort":"high","message":{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":"TodoWrite","input":{"todos":%s}}]}}`+"\n", call, b)
}

func created(id, subject string) string {
	return fmt.Sprintf(`{"type":"user","message":{"role":"user","content":[]},"toolUseResult":{"task":{"id":%q,"subject":%q}}}`+"\n", id, subject)
}

func updated(call, id, status string) string {
	return fmt.Sprintf(`{"type":"assistant","effort":"low","message":{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":"TaskUpdate","input":{"taskId":%q,"status":%q}}]}}`+"\n", call, id, status)
}

func failed(call string) string {
	return fmt.Sprintf(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"is_error":true}]}}`+"\n", call)
}

func TestReadReturnsTheLastStateOfTheTodos(t *testing.T) {
	t.Parallel()
	const until = "handoff_a_b_1_00c0ffee"
	instruction := fmt.Sprintf(`{"type":"user","message":{"role":"user","content":%q}}`+"\n", until)
	for name, tt := range map[string]struct {
		text string
		want string
	}{
		"tasks":                 {created("1", "a") + created("2", "b") + updated("c", "1", "completed") + updated("d", "2", "in_progress"), "b in_progress"},
		"a call that failed":    {created("1", "a") + updated("c", "1", "completed") + failed("c"), "a pending"},
		"a list that failed":    {todoWrite("c", "a", "b") + todoWrite("d", "x") + failed("d"), "a pending, b pending"},
		"the last list":         {created("1", "old") + todoWrite("c", "x") + todoWrite("d", "a"), "a pending"},
		"after the instruction": {todoWrite("c", "a", "b") + instruction + todoWrite("d", "b"), "b pending"},
		"none":                  {instruction, ""},
	} {
		got, err := Read(t.Context(), claude.Runtime, transcripttest.File(t, tt.text), Want{Messages: 1, Todos: true, Until: until})
		var all []string
		for _, todo := range got.Todos {
			all = append(all, todo.Text+" "+todo.Status)
		}
		if s := strings.Join(all, ", "); err != nil || s != tt.want || len(got.Warnings) != 0 {
			t.Errorf("%s: %q, want %q; %q, %v", name, s, tt.want, got.Warnings, err)
		}
	}
}

func TestReadBoundsTheTodos(t *testing.T) {
	t.Parallel()
	texts := slices.Repeat([]string{strings.Repeat("é", maxTodoSize)}, maxTodos+3)
	got, err := Read(t.Context(), claude.Runtime, transcripttest.File(t, todoWrite("c", texts...)), Want{Todos: true})
	want := data.Todo{Text: strings.Repeat("é", (maxTodoSize-len("…"))/2) + "…", Status: "pending"}
	if err != nil || len(got.Todos) != maxTodos || got.Todos[0] != want {
		t.Errorf("%d todos, %v", len(got.Todos), err)
	}
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "the last 3 are left out") {
		t.Errorf("warnings %q", got.Warnings)
	}
}

func TestEffortIsThatOfTheNewestAnswer(t *testing.T) {
	t.Parallel()
	path := transcripttest.File(t, todoWrite("c", "a")+updated("d", "1", "completed")+failed("d"))
	if got, err := Effort(claude.Runtime, path); got != "low" || err != nil {
		t.Errorf("level %q, %v", got, err)
	}
	if got, err := Read(t.Context(), claude.Runtime, path, Want{Messages: 1}); got.Effort != "low" || err != nil {
		t.Errorf("Read: level %q, %v", got.Effort, err)
	}
	if got, err := Effort(claude.Runtime, transcripttest.File(t, failed("d"))); got != "" || err != nil {
		t.Errorf("no answer: level %q, %v", got, err)
	}
}
