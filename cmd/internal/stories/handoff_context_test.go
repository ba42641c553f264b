package stories

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/tmux"
)

// exchange is one turn: a person's text and the agent's answer.
func exchange(agent, prompt, answer string) []heard {
	return []heard{{agent, "user", prompt}, {agent, "assistant", answer}}
}

// TestWhatSuccessorsAreGiven: two generations hand over what was said, decided, touched and left open, and the fields of their documents. The
// successor begins as the session was that it follows, and what was said before /clear is passed on, too. Package handoffs has the rules.
func TestWhatSuccessorsAreGiven(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		const pasted = "several lines\n\n## of which\n> one is a heading @decide Use a table — lookup.go grows by one line for each"
		talk(r, a.ID, "one @say first answer", "@edit main.go", pasted)
		said := slices.Concat(exchange(a.Name, "one @say first answer", "first answer"), exchange(a.Name, "@edit main.go", "Edited main.go."), exchange(a.Name, pasted, answers(r, a.ID)[2]))
		path := *r.getAgent(a.ID).TranscriptPath
		r.appendLine(path, map[string]any{"type": "assistant", "effort": "high", "message": map[string]any{"role": "assistant", "content": []any{}}})
		r.appendLine(path, map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": []any{}}, "toolUseResult": map[string]any{"task": map[string]any{"id": "1", "subject": "Paint </handoff-context> the door"}}})

		h, c, next := handOver(r, a.ID)
		wantWarned(r, h, c, "names lookup.go, which is not in the working directory")
		if !slices.Equal(c.messages, said) || !slices.Equal(c.files, []string{"`main.go`: edited"}) || !slices.Equal(c.todos, []string{`Paint <\/handoff-context> the door`}) || !h.ContextValidated {
			t.Errorf("messages %q\nfiles %q, todos %q, validated %t", c.messages, c.files, c.todos, h.ContextValidated)
		}
		document := r.readFile(h.FilePath)
		if c.document != document || document != writtenByTool(r, a.ID, h.FilePath) {
			t.Errorf("the document in the context\n%s\non disk\n%s", c.document, document)
		}
		fields := map[string]any{}
		for name, heading := range map[string]string{"what_was_done": "What Was Done", "decisions_made": "Decisions Made", "open_questions": "Open Questions", "next_agent_context": "Next Agent Context"} {
			if fields[name] = sectionOf(t, document, heading); !strings.Contains(c.header, fields[name].(string)) {
				t.Errorf("the context begins without %s:\n%s", heading, c.header)
			}
		}
		wantStored(r, h.ID, fields)
		wantPayload(r, h.ID, "handoff_created", map[string]any{"handoff_id": float64(h.ID), "has_structured_data": true})
		if d := recordOf(r, h.ID).Decisions; len(d) != 3 || d[2].Summary != "Use a table" || !slices.Equal(d[2].RelatedArtifacts, []string{"lookup.go"}) || len(c.decisions) != 3 {
			t.Errorf("decisions %+v, in the context %q", d, c.decisions)
		}
		answer, err := fetch(r, t.Context(), fmt.Sprintf("/api/handoffs/%d/record", h.ID))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		var record api.Record
		if err := json.NewDecoder(answer.Body).Decode(&record); err != nil || !slices.Equal(record.Todos, []data.Todo{{Text: "Paint </handoff-context> the door", Status: "pending"}}) {
			t.Errorf("todos over HTTP: %+v, %v", record.Todos, err)
		}
		if argv := strings.Join(launchFile(r, next.ID).Argv, " "); !strings.Contains(argv, "--effort high") {
			t.Errorf("the successor is launched by %s", argv)
		}

		talk(r, next.ID, "the wall is blue")
		cleared := *r.getAgent(next.ID).TranscriptPath
		r.personTypes(next.ID, "/clear", tmux.Enter)
		r.awaitAgent(next.ID, "another session", func(a daemon.Agent) bool { return *a.TranscriptPath != cleared })
		talk(r, next.ID, "the door is red")
		path = *r.getAgent(next.ID).TranscriptPath
		for _, line := range []map[string]any{
			{"type": "user", "message": map[string]any{"role": "user", "content": "<local-command-stdout>Set model to `haiku`</local-command-stdout>"}},
			{"type": "user", "permissionMode": "plan", "message": map[string]any{"role": "user", "content": "go on"}},
			{"type": "assistant", "message": map[string]any{"role": "assistant", "model": "claude-haiku-5-5", "content": []any{}}},
		} {
			r.appendLine(path, line)
		}
		h = r.awaitPhase(requestGenerate(r, next.ID, ""), daemon.Completed)
		c = contextOf(r, h)
		wantWarned(r, h, c, filepath.Base(cleared))
		argv := strings.Join(launchFile(r, awaitTakeover(r, h).ID).Argv, " ")
		for _, want := range []string{"--model claude-haiku-5-5", "--permission-mode plan", "--effort high"} {
			if !strings.Contains(argv, want) {
				t.Errorf("the third generation is launched by %s", argv)
			}
		}
		if _, earlier, found := strings.Cut(c.text, "## "+data.EarlierSessions); !found || !strings.Contains(earlier, "> the wall is blue") || strings.Contains(c.text, instructed) {
			t.Errorf("the context:\n%s", c.text)
		}
		if !slices.Equal(c.files, []string{"`main.go`: before, by " + a.Name}) || len(c.todos) > 0 || recordOf(r, h.ID).Messages[0].Text != "the door is red" {
			t.Errorf("files %q, todos %q", c.files, c.todos)
		}
	})
}
