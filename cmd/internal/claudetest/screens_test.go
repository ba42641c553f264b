//go:build e2e

package claudetest_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon/runtimes"
)

var update = flag.Bool("update", false, "write the screens of the real CLI to daemon/runtimes/testdata/screens")

const screensDir = "../../../daemon/runtimes/testdata/screens"

// scene leads the real CLI to one screen.
type scene struct {
	name   string
	narrow bool // 80x24 instead of 120x40
	script claudetest.Script
	args   []string
	env    []string
	status string // what the status line prints
	setup  func(*testing.T, claudetest.Home)
	play   func(*terminal)
}

// oddStatus looks like all that a screen is read by: a composer with a draft between its rules, a
// running turn, a dialog.
var oddStatus = strings.Repeat("─", 300) + "\n\x1b[31m❯\u00a0rm -rf\x1b[0m\n" + strings.Repeat("─", 300) +
	"\n\x1b[1;33mDo you want to proceed?\x1b[0m ❯ 1. Yes · esc to interrupt · draft stashed"

// statusScenes are shown with a status line as well.
var statusScenes = []string{"idle", "draft_narrow", "stashed", "busy_narrow", "busy_draft", "permission_write", "exit_tasks"}

// withStatus gives the scenes of these names a status line. What is read of the screen stays the
// same.
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

func scenes() []scene {
	submit := func(text string) func(*terminal) {
		return func(x *terminal) { x.ready(); x.deliver(text) }
	}
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
		{name: "idle", script: claudetest.Says("Hello."), play: func(x *terminal) { submit("hello")(x); x.shows("done ") }},
		{name: "draft", play: compose("please look at the parser")},
		{name: "draft_lines", play: compose("first line\n\nthird line")},
		{name: "draft_pasted", play: compose("1\n2\n3\n4\n5\n6")},
		{name: "draft_narrow", narrow: true, play: compose(long)},
		{name: "stashed", play: compose("keep this", "C-s")},
		{name: "stashed_narrow", narrow: true, play: compose("keep this", "C-s")},
		{name: "busy", script: held, play: submit("work")},
		{name: "busy_narrow", narrow: true, script: waits, play: func(x *terminal) { submit("work")(x); x.shows("…") }},
		{name: "busy_draft", script: waits, play: func(x *terminal) { submit("work")(x); x.shows("…"); x.paste("a draft meanwhile") }},
		{name: "streaming_draft", script: held, play: func(x *terminal) { submit("work")(x); x.shows("First"); x.paste("a draft meanwhile") }},
		{name: "busy_tool", args: []string{"--dangerously-skip-permissions"}, env: []string{"IS_SANDBOX=1"},
			setup: skipBypassWarning, script: claudetest.Ask("go", claudetest.Bash("tail -f /dev/null", false), claudetest.Says("done")),
			play: func(x *terminal) { submit("go")(x); x.shows("tail -f") }},
		{name: "queued", script: held, play: func(x *terminal) { submit("work")(x); x.shows("…"); x.deliver("and this"); x.shows("Queued") }},
		{name: "quotes_a_dialog", script: claudetest.Says(quote), play: func(x *terminal) { submit("hello")(x); x.shows("done ") }},
		{name: "interrupted", script: held, play: func(x *terminal) { submit("work")(x); x.shows("First"); x.keys("Escape"); x.shows("Interrupted") }},
		{name: "api_error", script: claudetest.Fails(400, "no such thing"), play: func(x *terminal) { submit("work")(x); x.shows("API Error") }},
		{name: "shell_mode", play: func(x *terminal) { x.ready(); x.keys("!") }},
		{name: "transcript_view", script: claudetest.Says("Hello."), play: func(x *terminal) { submit("hello")(x); x.shows("done "); x.keys("C-o") }},
		{name: "model_picker", play: compose("/model", "Enter")},
		{name: "agents_view", play: func(x *terminal) { x.ready(); x.keys("Left"); x.shows("Completed") }},
		{name: "permission_write", script: writesNotes, play: submit("go")},
		{name: "permission_narrow", narrow: true, script: writesNotes, play: submit("go")},
		{name: "permission_bash", script: claudetest.Ask("go", claudetest.Bash("touch /nowhere/x", false), claudetest.Says("done")), play: submit("go")},
		{name: "exit_tasks", script: claudetest.Ask("go", claudetest.Bash("sleep 300", true), claudetest.Says("done")),
			play: func(x *terminal) { submit("go")(x); x.shows("1 shell"); x.ready(); x.deliver(runtimes.ExitText) }},
		{name: "trust", setup: func(t *testing.T, h claudetest.Home) { h.Trust(t) }},
		{name: "theme", setup: firstStart},
		{name: "theme_narrow", narrow: true, setup: firstStart},
		{name: "security_notes", setup: firstStart, play: func(x *terminal) { x.shows("Choose the text style"); x.keys("Enter"); x.shows("Security notes") }},
		{name: "api_key", env: []string{"ANTHROPIC_API_KEY=sk-ant-api03-dummy-0123456789abcdefghijklmnop", "ANTHROPIC_AUTH_TOKEN="}},
		{name: "mcp_server", setup: func(t *testing.T, h claudetest.Home) {
			server := `{"mcpServers":{"notes":{"command":"true"}}}`
			if err := os.WriteFile(filepath.Join(h.Workdir, ".mcp.json"), []byte(server), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "settings_warning", args: []string{"--settings", `{"hooks":{"NoSuchEvent":[{"hooks":[{"type":"command","command":"true"}]}]}}`}},
		{name: "bypass", args: []string{"--dangerously-skip-permissions"}, env: []string{"IS_SANDBOX=1"}},
	}
}

// statusSettings are settings with a status line that prints the text.
func statusSettings(t *testing.T, h claudetest.Home, text string) string {
	t.Helper()
	file := filepath.Join(h.Dir, "status")
	if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return `{"statusLine":{"type":"command","command":"cat ` + file + `"}}`
}

// firstStart has the CLI find no settings at all.
func firstStart(t *testing.T, h claudetest.Home) { h.Forget(t) }

func skipBypassWarning(t *testing.T, h claudetest.Home) {
	t.Helper()
	err := os.WriteFile(filepath.Join(h.ConfigDir, "settings.json"), []byte(`{"skipDangerousModePermissionPrompt":true}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
}

// shows waits for a text on the screen.
func (x *terminal) shows(text string) {
	x.t.Helper()
	text, _, _ = strings.Cut(text, "\n")
	poll(x.t, "the text "+text, func() bool { return strings.Contains(x.screen(), text) })
}

// TestScreens holds what ReadScreen says of the real CLI against want.json, which the golden test
// of daemon/runtimes uses as well. With -update it writes the golden screens.
func TestScreens(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(screensDir, "want.json"))
	if err != nil {
		t.Fatal(err)
	}
	wants := map[string]runtimes.Screen{}
	if err := json.Unmarshal(raw, &wants); err != nil {
		t.Fatal(err)
	}
	all := scenes()
	all = append(all, withStatus(all, "_status", "con, 12% of the context used", statusScenes...)...)
	all = append(all, withStatus(all, "_odd_status", oddStatus, statusScenes...)...)
	for _, sc := range all {
		want, ok := wants[sc.name]
		if !ok {
			t.Errorf("%s is not in want.json", sc.name)
			continue
		}
		t.Run(sc.name, func(t *testing.T) { sc.run(t, want) })
	}
}

func (sc scene) run(t *testing.T, want runtimes.Screen) {
	api := claudetest.NewFakeAPI(t, sc.script)
	home := claudetest.Env(t, api)
	if sc.setup != nil {
		sc.setup(t, home)
	}
	size := [2]int{120, 40}
	if sc.narrow {
		size = [2]int{80, 24}
	}
	args := append([]string{"--name", "developer-con-1"}, sc.args...)
	if len(sc.args) == 0 || sc.args[0] != "--dangerously-skip-permissions" {
		args = append(args, "--permission-mode", "manual")
	}
	if sc.status != "" {
		args = append(args, "--settings", statusSettings(t, home, sc.status))
	}
	x := start(t, home, size, sc.env, args...)
	if sc.play != nil {
		sc.play(x)
	}
	screen := x.settled(want)
	if *update {
		screen = strings.ReplaceAll(screen, filepath.Dir(home.Workdir), "/home/dev")
		if err := os.WriteFile(filepath.Join(screensDir, sc.name+".txt"), []byte(screen), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// settled waits until ReadScreen has said the same for a fifth of a second, and compares that.
func (x *terminal) settled(want runtimes.Screen) string {
	x.t.Helper()
	var got runtimes.Screen
	var screen string
	same, deadline := time.Now(), time.Now().Add(time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for time.Since(same) < 200*time.Millisecond || got != want {
		if time.Now().After(deadline) {
			x.t.Errorf("screen says %+v, want %+v", got, want)
			break
		}
		<-tick.C
		screen = x.screen()
		now := runtimes.Claude().ReadScreen(screen)
		now.Row = "" // want.json is of what the row means, not of the row: an empty composer proposes now this, now that
		if now != got {
			got, same = now, time.Now()
		}
	}
	return screen
}
