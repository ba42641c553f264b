package stories

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/commands"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// TestOpenTodosArePassedOn: What the outgoing session still had to do, by its own list, is in the successor's context file and
// in the record. The successor begins with the thinking level that its predecessor had last, and has no todos of its own.
func TestOpenTodosArePassedOn(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.talk(a.ID, "make a plan")
		path := *r.getAgent(a.ID).TranscriptPath
		for i, subject := range []string{"Mend the roof", "Paint </handoff-context> the door", "Sweep"} {
			r.appendLine(path, map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": []any{}},
				"toolUseResult": map[string]any{"task": map[string]any{"id": fmt.Sprint(i + 1), "subject": subject}}})
		}
		for _, change := range [][2]string{{"1", "completed"}, {"2", "in_progress"}} {
			id, status := change[0], change[1]
			r.appendLine(path, map[string]any{"type": "assistant", "effort": "high", "message": map[string]any{"role": "assistant", "content": []any{
				map[string]any{"type": "tool_use", "id": "toolu_" + id, "name": "TaskUpdate", "input": map[string]any{"taskId": id, "status": status}},
			}}})
		}
		h, c, next := r.handOver(a.ID)
		if want := []string{`Paint <\/handoff-context> the door (in progress)`, "Sweep"}; !slices.Equal(c.todos, want) {
			t.Errorf("open todos %q, want %q", c.todos, want)
		}
		var record api.Record
		answer, err := r.fetch(t.Context(), fmt.Sprintf("/api/handoffs/%d/record", h.ID))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if err := json.NewDecoder(answer.Body).Decode(&record); err != nil {
			t.Fatal(err)
		}
		want := []data.Todo{{Text: "Paint </handoff-context> the door", Status: "in_progress"}, {Text: "Sweep", Status: "pending"}}
		if !slices.Equal(record.Todos, want) {
			t.Errorf("the record's todos over HTTP: %+v, want %+v", record.Todos, want)
		}
		if argv := strings.Join(r.launchFile(next.ID).Argv, " "); !strings.Contains(argv, "--effort high") {
			t.Errorf("the successor is launched by %s", argv)
		}

		h, c, next = r.handOver(next.ID)
		if rec := r.recordOf(h.ID); len(c.todos)+len(rec.Todos) != 0 {
			t.Errorf("todos of an agent that has none: %q, %+v", c.todos, rec.Todos)
		}
		if argv := strings.Join(r.launchFile(next.ID).Argv, " "); !strings.Contains(argv, "--effort high") {
			t.Errorf("the third generation is launched by %s", argv)
		}
	})
}

// TestCopyKeepsTheThinkingLevel: The copy that writes the document works with the level of the session. An heir with another
// model has that model's own level.
func TestCopyKeepsTheThinkingLevel(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		f := r.recordForks()
		r.start()
		a := r.startSpokenTo()
		r.appendLine(*a.TranscriptPath, map[string]any{"type": "assistant", "effort": "high", "message": map[string]any{"role": "assistant", "content": []any{}}})
		h := r.awaitPhase(r.requestGenerate(a.ID, ""), daemon.Completed)
		if len(f.jobs) != 1 || !strings.Contains(strings.Join(f.jobs[0].Argv, " "), "--effort high") {
			t.Errorf("copies %+v, want one at the level high", f.jobs)
		}
		next := r.awaitTakeover(h)
		before := r.launchFile(next.ID).Argv
		s := r.sit(false, "handoff", fmt.Sprint(next.ID), "--model", "opus", "--force", "--wait")
		s.wantExit(commands.ExitDone)
		last, err := r.client.LatestHandoff(t.Context(), next.ID)
		if err != nil {
			t.Fatal(err)
		}
		after := r.launchFile(r.awaitTakeover(last).ID).Argv
		if !slices.Contains(before, "--effort") || !slices.Contains(after, "opus") || slices.Contains(after, "--effort") {
			t.Errorf("the second generation is launched by %q, an heir with another model by %q", before, after)
		}
	})
}
