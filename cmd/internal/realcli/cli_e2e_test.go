//go:build e2e

package realcli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
)

// slots limits how many CLIs run at once: one takes up to 600 MB, and one core while it starts.
var slots = make(chan struct{}, 2)

// each runs a test for every CLI.
func each(t *testing.T, test func(*testing.T, CLI)) {
	t.Helper()
	t.Parallel()
	for _, cli := range All() {
		t.Run(string(cli), func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			t.Cleanup(func() { <-slots })
			Install(t, cli) // not part of the times below
			test(t, cli)
		})
	}
}

// quits are the commands that end the CLIs.
var quits = map[CLI]string{Codex: "/quit", OpenCode: "/exit", Pi: "/quit", Gemini: "/quit"}

// TestCLITakesAPromptAndEnds: each CLI starts without a dialog, takes a prompt, shows the model's answer and ends.
func TestCLITakesAPromptAndEnds(t *testing.T) {
	each(t, func(t *testing.T, cli CLI) {
		api := NewFakeAPI(t, claudetest.Says("The chimney leans."))
		s := start(t, cli, api, Env(t, cli, api))
		s.ready()
		t.Logf("%s: ready after %v", cli, time.Since(s.began).Round(10*time.Millisecond))
		s.submit("how is the house?")
		s.shows("The chimney leans.")
		req := api.Await(t, "the prompt", func(r claudetest.Request) bool { return r.Aside == "" && r.Prompt() == "how is the house?" })
		if req.CLI != string(cli) || req.SystemText() == "" || len(req.Tools) == 0 || !strings.Contains(cli.Model(), req.Model) {
			t.Errorf("request of %q for %q, %d bytes of system prompt, tools %v", req.CLI, req.Model, len(req.SystemText()), req.Tools)
		}
		s.ready()
		at := time.Now()
		s.submit(quits[cli])
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for !s.info().Dead {
			if time.Since(at) > patience {
				t.Fatal("the CLI has not ended")
			}
			<-tick.C
		}
		t.Logf("%s: ended %v later", cli, time.Since(at).Round(10*time.Millisecond))
	})
}

// TestCLIUsesTools: one script of Claude Code's calls has each CLI run a command and write a file with its own tools, and
// the record shows these calls in Claude Code's words.
func TestCLIUsesTools(t *testing.T) {
	each(t, func(t *testing.T, cli CLI) {
		api := NewFakeAPI(t, claudetest.Ask("count the bricks", claudetest.Bash("echo 42 >bricks", false),
			claudetest.WritesDocument(claudetest.Document)))
		home := Env(t, cli, api)
		s := start(t, cli, api, home)
		s.ready()
		s.submit("count the bricks")
		ran := api.Await(t, "the command's result", func(r claudetest.Request) bool { return used(r, "Bash", "command") })
		if b, err := os.ReadFile(filepath.Join(home.Workdir, "bricks")); string(b) != "42\n" {
			t.Errorf("the command left %q, %v; the conversation is %+v", b, err, ran.Messages)
		}
		s.ready()
		path := filepath.Join(home.Workdir, "handoff.md")
		s.submit("Please write your handoff document to " + path + ".")
		api.Await(t, "the written document", func(r claudetest.Request) bool { return r.Wrote(path) })
		if b, err := os.ReadFile(path); string(b) != claudetest.Document {
			t.Errorf("the CLI wrote %q, %v", b, err)
		}
		s.ready()
	})
}

// used reports whether the conversation has a call of a tool of Claude Code's with a field of its input, and a result.
func used(r claudetest.Request, tool, field string) bool {
	called, answered := false, false
	for _, m := range r.Messages {
		for _, b := range m.Content {
			called = called || b.Type == "tool_use" && b.Name == tool && strings.Contains(string(b.Input), `"`+field+`"`)
			answered = answered || called && b.Type == "tool_result"
		}
	}
	return answered
}
