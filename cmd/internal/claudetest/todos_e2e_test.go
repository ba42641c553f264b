//go:build e2e

package claudetest_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/transcript"
	"github.com/understudyd/understudy/data"
)

// TestTodosAndThinkingLevel: the CLI's transcript shows its list of tasks, and the thinking level of each answer, also after a
// person has changed it. A copy of the session has the CLI's own level unless it is told another one.
func TestTodosAndThinkingLevel(t *testing.T) {
	t.Parallel()
	task := func(tool string, input map[string]any) claudetest.Reply {
		return claudetest.Reply{Tool: tool, Input: input}
	}
	calls := []claudetest.Reply{
		task("TaskCreate", map[string]any{"subject": "Write the parser", "description": "All of it", "activeForm": "Writing"}),
		task("TaskCreate", map[string]any{"subject": "Test the parser", "description": "All of it"}),
		task("TaskCreate", map[string]any{"subject": "Drop it", "description": "No"}),
		task("TaskCreate", map[string]any{"subject": "Document it", "description": "All of it"}),
		task("TaskUpdate", map[string]any{"taskId": "1", "status": "completed"}),
		task("TaskUpdate", map[string]any{"taskId": "2", "status": "in_progress", "subject": "Test the parser well"}),
		task("TaskUpdate", map[string]any{"taskId": "3", "status": "deleted"}),
		task("TaskUpdate", map[string]any{"taskId": "9", "status": "pending", "subject": "Nobody's"}),
		task("TaskGet", map[string]any{"taskId": "4"}),
	}
	s := open(t, sessionConfig{
		script: func(r claudetest.Request) claudetest.Reply {
			done := 0
			for _, m := range r.Messages {
				for _, b := range m.Content {
					if b.Type == "tool_use" {
						done++
					}
				}
			}
			if !strings.Contains(strings.Join(r.UserTexts(), "\n"), "make a plan") || done >= len(calls) {
				return claudetest.Reply{Text: "OK"}
			}
			return calls[done]
		},
		change: func(s *runtimes.Spec) { s.Model, s.Effort = "claude-opus-4-5", "low" },
	})
	path := s.turn("make a plan").Transcript
	got, err := transcript.Read(t.Context(), claude.Runtime, path, transcript.Want{Messages: 1, Todos: true})
	want := []data.Todo{{Text: "Test the parser well", Status: "in_progress"}, {Text: "Document it", Status: "pending"}}
	if err != nil || !slices.Equal(got.Todos, want) || got.Effort != "low" {
		t.Errorf("todos %+v, level %q, %v; want %+v at low", got.Todos, got.Effort, err, want)
	}

	s.idle()
	s.deliver("/effort medium")
	s.until("the question about the level", func(_ runtimes.Screen, text string) bool { return strings.Contains(text, "Change effort level?") })
	s.keys("Enter")
	s.turn("go on")
	poll(t, "the level after /effort in the transcript", func() bool { // the CLI writes its last answer after the Stop
		level, err := transcript.Effort(claude.Runtime, path)
		return err == nil && level == "medium"
	})

	if err := os.Remove(filepath.Join(s.home.ConfigDir, "settings.json")); err != nil { // there /effort keeps the level for all sessions
		t.Fatal(err)
	}
	for _, level := range []string{"", "medium"} {
		prompt := "copied at level " + level + "."
		fork, err := claude.Runtime.Fork(runtimes.ForkSpec{Command: []string{claudetest.Install(t)}, SessionID: sessionID,
			SettingsJSON: s.hooks.settings(t, nil), Effort: level, Prompt: prompt})
		must(t, err)
		cmd := exec.Command(fork.Argv[0], fork.Argv[1:]...)
		cmd.Env, cmd.Dir, cmd.Stdin = append(s.home.Environ, hookVariable+"="+s.hooks.url), s.home.Workdir, bytes.NewReader(fork.Stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		req := s.api.Await(t, "the copy's prompt", func(r claudetest.Request) bool { return strings.Contains(strings.Join(r.NewTexts(), "\n"), prompt) })
		equal(t, "copied at level "+level+": the request asks for medium is", bytes.Contains(req.Raw, []byte(`"output_config":{"effort":"medium"}`)), level != "")
	}
}
