//go:build e2e

package claudetest_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
)

var update = flag.Bool("update", false, "record the real CLI: write its screens to daemon/runtimes/testdata/screens and its hooks to hooks/hookstest/testdata")

const screensDir = "../../../daemon/runtimes/testdata/screens"

// scene leads the real CLI to one screen.
type scene struct {
	name    string
	narrow  bool // 80x24 instead of 120x40
	script  claudetest.Script
	args    []string
	env     []string
	status  string // what the status line prints
	setup   func(*testing.T, claudetest.Home)
	play    func(*terminal)
	follows bool // the scene goes on from the screen of the one before
}

// oddStatus is a status line that looks like everything that ReadScreen looks for: a composer with a draft between its
// rules, a running turn, a dialog.
var oddStatus = strings.Repeat("─", 300) + "\n\x1b[31m❯\u00a0rm -rf\x1b[0m\n" + strings.Repeat("─", 300) +
	"\n\x1b[1;33mDo you want to proceed?\x1b[0m ❯ 1. Yes · esc to interrupt · draft stashed"

// statusScenes are the scenes that are played with a status line as well.
var statusScenes = []string{"idle", "draft_narrow", "stashed", "busy_narrow", "busy_draft", "permission_write", "exit_tasks"}

// withStatus returns the scenes of these names with a status line. ReadScreen must read the same from them.
func withStatus(all []scene, suffix, status string, names ...string) (out []scene) {
	for _, sc := range all {
		if slices.Contains(names, sc.name) {
			sc.name, sc.status = sc.name+suffix, status
			out = append(out, sc)
		}
	}
	return out
}

var (
	quote = "It asked:\n\n──────────────────────────────\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel"
	held  = func(claudetest.Request) claudetest.Reply {
		return claudetest.Reply{Text: "First paragraph.\n\nThe second paragraph is where it holds.", Hold: true}
	}
	waits       = func(claudetest.Request) claudetest.Reply { return claudetest.Reply{Text: "late", Hold: true} }
	writesNotes = claudetest.Ask("go", claudetest.Write("notes.md", "# Notes\n\nnone\n"), claudetest.Says("done"))
	long        = strings.TrimSpace(strings.Repeat("seven words make one piece of this ", 8))
)

func submit(text string) func(*terminal) {
	return func(x *terminal) { x.ready(); x.deliver(text) }
}

// busy begins a turn of the model.
func busy(x *terminal) {
	before := len(x.api.Requests())
	submit("work")(x)
	poll(x.t, "the model's turn", func() bool {
		return slices.ContainsFunc(x.api.Requests()[before:], func(r claudetest.Request) bool { return slices.Contains(r.NewTexts(), "work") })
	})
}

func scenes() []scene {
	compose := func(text string, keys ...string) func(*terminal) {
		return func(x *terminal) {
			x.ready()
			x.paste(text)
			if len(keys) > 0 {
				x.shows(text)
				x.keys(keys...)
			}
		}
	}
	return []scene{
		{name: "just_started", play: func(x *terminal) { x.shows("Claude Code") }},
		{name: "agents_view", play: func(x *terminal) { x.ready(); x.keys("Left"); x.shows("Completed") }},
		{name: "idle", script: claudetest.Says("Hello."), play: func(x *terminal) { submit("hello")(x); x.shows("done ") }},
		{name: "draft", play: compose("please look at the parser")},
		{name: "draft_lines", play: compose("first line\n\nthird line")},
		{name: "draft_pasted", play: compose("1\n2\n3\n4\n5\n6")},
		{name: "draft_narrow", narrow: true, play: compose(long)},
		{name: "stashed", play: compose("keep this", "C-s")},
		{name: "stashed_narrow", narrow: true, play: compose("keep this", "C-s")},
		{name: "busy", script: held, play: submit("work")},
		{name: "busy_narrow", narrow: true, script: waits, play: busy},
		{name: "busy_draft", script: waits, play: func(x *terminal) { busy(x); x.paste("a draft meanwhile") }},
		{name: "streaming_draft", script: held, play: func(x *terminal) { submit("work")(x); x.shows("First"); x.paste("a draft meanwhile") }},
		{name: "queued", script: held, play: func(x *terminal) { busy(x); x.deliver("and this"); x.shows("Queued") }},
		{name: "quotes_a_dialog", script: claudetest.Says(quote), play: func(x *terminal) { submit("hello")(x); x.shows("done ") }},
		{name: "interrupted", script: held, play: func(x *terminal) { submit("work")(x); x.shows("First"); x.keys("Escape"); x.shows("Interrupted") }},
		{name: "api_error", script: claudetest.Fails(400, "no such thing"), play: func(x *terminal) { submit("work")(x); x.shows("API Error") }},
		{name: "api_limit", script: claudetest.Fails(429, "slow down"), play: func(x *terminal) { submit("work")(x); x.shows("Resend") }},
		{name: "shell_mode", play: func(x *terminal) { x.ready(); x.keys("!") }},
		{name: "transcript_view", script: claudetest.Says("Hello."), play: func(x *terminal) { submit("hello")(x); x.shows("done "); x.keys("C-o") }},
		{name: "model_picker", play: compose("/model", "Enter")},
		{name: "view_usage", play: compose("/cost", "Enter")},
		{name: "view_permissions", play: compose("/permissions", "Enter")},
		{name: "permission_write", script: writesNotes, play: submit("go")},
		{name: "permission_narrow", narrow: true, script: writesNotes, play: submit("go")},
		{name: "permission_bash", script: claudetest.Ask("go", claudetest.Bash("touch /nowhere/x", false), claudetest.Says("done")), play: submit("go")},
		{name: "question", script: claudetest.Ask("go", claudetest.Question(false), claudetest.Says("done")), play: submit("go")},
		{name: "question_many", script: claudetest.Ask("go", claudetest.Question(true), claudetest.Says("done")), play: submit("go")},
		{name: "exit_tasks", script: claudetest.Ask("go", claudetest.Bash("sleep 300", true), claudetest.Says("done")),
			play: func(x *terminal) { submit("go")(x); x.shows("1 shell"); x.ready(); x.deliver(claude.ExitText) }},
	}
}

// firstScenes returns the scenes that need a home or a command line of their own.
func firstScenes() []scene {
	return []scene{
		{name: "trust", setup: func(t *testing.T, h claudetest.Home) { h.Trust(t) }},
		{name: "theme", setup: firstStart},
		{name: "theme_narrow", narrow: true, follows: true},
		{name: "security_notes", follows: true, play: func(x *terminal) { x.shows("Choose the text style"); x.keys("Enter"); x.shows("Security notes") }},
		{name: "api_key", env: []string{"ANTHROPIC_API_KEY=sk-ant-api03-dummy-0123456789abcdefghijklmnop", "ANTHROPIC_AUTH_TOKEN="}},
		{name: "mcp_server", setup: func(t *testing.T, h claudetest.Home) {
			server := `{"mcpServers":{"notes":{"command":"true"}}}`
			must(t, os.WriteFile(filepath.Join(h.Workdir, ".mcp.json"), []byte(server), 0o600))
		}},
		{name: "settings_warning", args: []string{"--settings", `{"hooks":{"NoSuchEvent":[{"hooks":[{"type":"command","command":"true"}]}]}}`}},
		{name: "bypass", args: []string{"--dangerously-skip-permissions"}, env: []string{"IS_SANDBOX=1"}},
		{name: "busy_tool", follows: true, script: claudetest.Ask("go", claudetest.Bash("tail -f /dev/null", false), claudetest.Says("done")),
			play: func(x *terminal) { x.keys("Down", "Enter"); x.ready(); x.deliver("go"); x.shows("tail -f") }},
		{name: "limit_question", args: []string{"--settings", `{"autoContinueAtUsageLimit":false}`}, env: claudetest.Subscription(), script: claudetest.Limited(time.Now().Add(time.Hour)),
			play: func(x *terminal) { submit("work")(x); x.shows("What do you want") }},
		{name: "exit_tree", args: []string{"--worktree", "wt"}, setup: inRepository,
			play: func(x *terminal) { submit("go")(x); x.shows("done "); x.ready(); x.deliver(claude.ExitText) }},
		{name: "exit_tree_narrow", narrow: true, follows: true},
		{name: "busy_still", args: []string{"--settings", `{"prefersReducedMotion":true}`}, script: waits,
			play: func(x *terminal) { busy(x); x.paste("a draft meanwhile") }},
	}
}

// statusFile is the file that the status line prints.
func statusFile(h claudetest.Home) string { return filepath.Join(h.Dir, "status") }

// statusSettings returns settings with a status line.
func statusSettings(h claudetest.Home) string {
	return `{"statusLine":{"type":"command","command":"cat ` + statusFile(h) + `"}}`
}

// firstStart is a setup: the CLI has never been started before.
func firstStart(t *testing.T, h claudetest.Home) { h.Forget(t) }

// inRepository is a setup: the CLI starts in a repository with one commit.
func inRepository(t *testing.T, h claudetest.Home) {
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"commit", "-q", "--allow-empty", "-m", "begin"}} {
		cmd := exec.Command("git", append([]string{"-C", h.Workdir, "-c", "user.name=dev", "-c", "user.email=dev@example"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
}
