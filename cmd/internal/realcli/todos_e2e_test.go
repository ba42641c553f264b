//go:build e2e

package realcli

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/transcript"
	"github.com/understudyd/understudy/data"
)

// TestTranscriptShowsTodos: the CLIs that keep their conversation in a file show their list of todos in it.
func TestTranscriptShowsTodos(t *testing.T) {
	t.Parallel()
	for cli, call := range map[CLI]claudetest.Reply{
		Codex: {Tool: "update_plan", Input: map[string]any{"plan": []map[string]any{
			{"step": "Count them", "status": "completed"}, {"step": "Lay them", "status": "in_progress"}, {"step": "Sweep", "status": "pending"}}}},
		Gemini: {Tool: "write_todos", Input: map[string]any{"todos": []map[string]any{
			{"description": "Count them", "status": "completed"}, {"description": "Lay them", "status": "in_progress"}, {"description": "Sweep", "status": "blocked"},
			{"description": "Ask", "status": "cancelled"}}}},
		Pi: {Tool: "todo", Input: map[string]any{"op": "init", "list": []map[string]any{{"phase": "One", "items": []string{"Lay them", "Sweep"}}}}},
	} {
		t.Run(string(cli), func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			t.Cleanup(func() { <-slots })
			api := NewFakeAPI(t, claudetest.Ask("plan the bricks", call, claudetest.Says("It is planned.")))
			home := Env(t, cli, api)
			if cli == Gemini { // it offers the tool to older models only
				home.Args = append(home.Args, "-m", "gemini-2.5-pro")
			}
			if cli == Codex {
				home.Args = append(home.Args, "-c", "tools.update_plan.enabled=true")
			}
			s := start(t, cli, api, home)
			s.ready()
			s.submit("plan the bricks")
			s.shows("It is planned.")
			s.ready()
			var found []string
			err := filepath.WalkDir(home.ConfigDir, func(path string, e fs.DirEntry, err error) error {
				if err == nil && strings.HasSuffix(path, ".jsonl") && (strings.Contains(path, "/sessions/") || strings.Contains(path, "/chats/")) {
					found = append(found, path)
				}
				return err
			})
			if err != nil || len(found) != 1 {
				t.Fatalf("transcripts %q, %v", found, err)
			}
			rt, err := runtimes.For(string(cli))
			if err != nil {
				t.Fatal(err)
			}
			got, err := transcript.Read(t.Context(), rt, found[0], transcript.Want{Messages: 9, Todos: true})
			want := []data.Todo{{Text: "Lay them", Status: "in_progress"}, {Text: "Sweep", Status: "pending"}}
			if err != nil || !slices.Equal(got.Todos, want) {
				t.Errorf("todos %+v, %v, want %+v", got.Todos, err, want)
			}
		})
	}
}
