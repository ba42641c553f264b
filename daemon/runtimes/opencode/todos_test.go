package opencode

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
)

func TestMirrorShowsTodos(t *testing.T) {
	t.Parallel()
	part := Part{Type: "tool", Tool: "todowrite", CallID: "c1"}
	part.State.Status = "completed"
	part.State.Input.Todos = []byte(`[{"content":"a","id":"1","priority":"high","status":"completed"},{"content":"b","status":"in_progress"},{"content":"c","status":"cancelled"}]`)
	m := Message{Info: Info{Role: "assistant", ID: "m1"}, Parts: []Part{part}}
	var changes []runtimes.TodoChange
	for line := range strings.Lines(string(m.Lines("s", true, false))) {
		e := value(Runtime.ParseEntry([]byte(line)))(t)
		changes = append(changes, e.Todos...)
	}
	equal(t, "todos", runtimes.OpenTodos(changes), []runtimes.Todo{{Text: "b", Status: runtimes.TodoInProgress}})
	if Runtime.Can.Todos == "" {
		t.Error("the table says that OpenCode shows no todos")
	}
}
