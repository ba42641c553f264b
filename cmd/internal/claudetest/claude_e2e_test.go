//go:build e2e

package claudetest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

var must, equal = wardentest.Must, wardentest.Equal

func value[T any](v T, err error) func(testing.TB) T { return wardentest.Value(v, err) }

// These tests check the behaviour of the real CLI on which the daemon relies, so that an upgrade shows what has
// changed. They do not use the daemon.

// session is the CLI in a pane with the hooks of hookLog, started as the daemon starts it.
type session struct {
	*terminal
	hooks *hookLog
	api   *claudetest.FakeAPI
}

type sessionConfig struct {
	script claudetest.Script
	answer func(claudetest.Home) func(hookCall) string
	allow  func(claudetest.Home) []string // permissions.allow
	change func(*runtimes.Spec)
	args   []string // arguments in addition to those of the daemon
}

const sessionID = "0a273dc6-ef5e-4e72-92d8-ad9bb55f6f1a"

func open(t *testing.T, c sessionConfig) session {
	t.Helper()
	api := claudetest.NewFakeAPI(t, c.script)
	home := claudetest.Env(t, api)
	hooks := newHookLog(t, nil)
	if c.answer != nil {
		hooks.answer = c.answer(home)
	}
	return openIn(t, home, api, hooks, c)
}

// openIn starts a session in a home in which other sessions may have run.
func openIn(t *testing.T, home claudetest.Home, api *claudetest.FakeAPI, hooks *hookLog, c sessionConfig) session {
	t.Helper()
	more := map[string]any{}
	if c.allow != nil {
		more["permissions"] = map[string]any{"allow": c.allow(home)}
	}
	spec := runtimes.Spec{AgentID: 1, Name: "developer-con-1", SessionID: sessionID, Command: []string{claudetest.Install(t)},
		Mode: "manual", SkillText: "You are Con, marker-skill.", SettingsJSON: []byte(hooks.settings(t, more)), Dir: t.TempDir()}
	if c.change != nil {
		c.change(&spec)
	}
	launch := value(claude.Runtime.Launch(spec))(t)
	for _, f := range launch.Files {
		must(t, os.WriteFile(f.Path, f.Content, 0o600))
	}
	x := start(t, home, [2]int{120, 40}, []string{hookVariable + "=" + hooks.url}, append(launch.Argv[1:], c.args...)...)
	return session{x, hooks, api}
}

func (s session) idle() {
	s.t.Helper()
	s.untilStatus(runtimes.StatusIdle)
	s.ready()
}

func (s session) submitted(text string) hookCall {
	s.t.Helper()
	return s.hooks.await(s.t, fmt.Sprintf("UserPromptSubmit with %.40q", text), func(c hookCall) bool {
		return c.Event == "UserPromptSubmit" && runtimes.MatchesPrompt(c.Prompt, text)
	})
}

// TestSession checks everything that one session of the CLI can show. Each part begins with an empty composer.
func TestSession(t *testing.T) {
	t.Parallel()
	s := open(t, sessionConfig{})
	for _, part := range []struct {
		name string
		play func(session)
	}{
		{"registration", registers}, {"safe prompts", takesSafePrompts}, {"typed size", takesWhatIsTyped}, {"mentions", attachesMentions}, {"dialog", asksFirst},
		{"draft", putsADraftAside}, {"exit", exits},
	} {
		whole := s.t
		ok := t.Run(part.name, func(t *testing.T) {
			s.t = t
			part.play(s)
		})
		s.t = whole
		if !ok {
			t.Fatal("a part before has failed, so the session is not in the state that this part needs")
		}
	}
}

// registers: the hooks name the process in the pane and the session id that we chose. The first text may be typed once
// the registry says idle and the composer is on the screen.
func registers(s session) {
	c := s.hooks.await(s.t, "SessionStart", event("SessionStart"))
	if got, want := c.Env["CLAUDE_PID"], fmt.Sprint(s.pid); got != want {
		s.t.Errorf("CLAUDE_PID %s, the pane's process is %s", got, want)
	}
	if c.Env["TMUX_PANE"] != "%0" || c.Session != sessionID || c.Source != "startup" {
		s.t.Errorf("pane %q, session %s, source %s", c.Env["TMUX_PANE"], c.Session, c.Source)
	}
	equal(s.t, "transcript "+c.Transcript+": configuration directory", runtimes.ConfigDirOfTranscript(c.Transcript), s.home.ConfigDir)
	s.idle()
	poll(s.t, "our name in the registry, where another one may stand for a moment", func() bool {
		r, err := s.registry()
		return err == nil && r.Name == "developer-con-1"
	})
	r := value(s.registry())(s.t)
	if r.PID != s.pid || r.SessionID != sessionID || r.Cwd != s.home.Workdir || !strings.HasSuffix(r.Tmux, ".%0") {
		s.t.Errorf("registry %+v", r)
	}
	s.turn("first-text of the session")
	req := s.api.Await(s.t, "the first text", func(r claudetest.Request) bool {
		return strings.Contains(strings.Join(r.UserTexts(), "\n"), "first-text")
	})
	if !strings.Contains(req.SystemText(), "marker-skill") || req.SessionID != sessionID {
		s.t.Errorf("session %s, system prompt without the skill: …%s", req.SessionID, req.SystemText()[max(0, len(req.SystemText())-200):])
	}
}

// turn delivers a text, waits for the end of its turn, and returns the hook of the prompt.
func (s session) turn(text string) hookCall {
	s.t.Helper()
	before := s.stops()
	s.idle()
	s.deliver(text)
	c := s.submitted(text)
	s.stopped(before)
	return c
}

// stopped waits until there were more Stops than before.
func (s session) stopped(before int) {
	s.t.Helper()
	s.hooks.await(s.t, "Stop", func(c hookCall) bool { return c.Event == "Stop" && s.stops() > before })
}

func (s session) stops() int {
	n := 0
	for _, c := range s.hooks.all() {
		if c.Event == "Stop" {
			n++
		}
	}
	return n
}

func exits(s session) {
	s.idle()
	s.deliver(claude.ExitText)
	equal(s.t, "reason", s.hooks.await(s.t, "SessionEnd", event("SessionEnd")).Reason, "prompt_input_exit")
	waitGone(s.t, s.pid)
}

// attachesMentions: the CLI attaches a file that a prompt mentions, wherever it is, without a question; not one whose mention has a backslash, a
// quote or a parenthesis before it.
func attachesMentions(s session) {
	const inside = "known to the file alone"
	file := filepath.Join(s.home.Dir, "elsewhere.txt")
	must(s.t, os.WriteFile(file, []byte(inside), 0o600))
	s.api.SetScript(claudetest.Says("OK"))
	for _, text := range []string{"first look at @" + file + " and say", runtimes.Unmentioned("then look at @" + file + " and say"), "then at '@" + file + "' or (@" + file + ") and say"} {
		s.turn(text)
		req := s.api.Await(s.t, text, func(r claudetest.Request) bool { return strings.Contains(strings.Join(r.NewTexts(), "\n"), text) })
		equal(s.t, text+": attached", strings.Contains(strings.Join(req.NewTexts(), "\n"), inside), strings.HasPrefix(text, "first"))
	}
}

// asksFirst: the mode asks before a tool that no rule allows. A hook reports that at once, the registry a moment later.
func asksFirst(s session) {
	stops := s.stops()
	s.api.SetScript(claudetest.Ask("go", claudetest.Write("notes.md", "x"), claudetest.Says("done")))
	s.idle()
	s.deliver("go")
	s.hooks.await(s.t, "PermissionRequest", event("PermissionRequest"))
	s.untilStatus(runtimes.StatusWaiting)
	equal(s.t, "the registry: waits for", value(s.registry())(s.t).WaitingFor, "permission prompt")
	s.until("the dialog", func(s runtimes.Screen, _ string) bool { return strings.HasPrefix(s.Dialog, "permission: ") })
	s.keys("Escape")
	s.idle() // only the registry shows the end of an interrupted turn
	equal(s.t, "Esc brought a Stop", s.stops(), stops)
}

// putsADraftAside: the stash key puts a person's draft aside, and the CLI brings it back. If a draft is aside already,
// the key over an empty composer brings it back, so it must not be pressed then.
func putsADraftAside(s session) {
	s.api.SetScript(claudetest.Says("OK"))
	s.idle()
	const human, ours = "a human's draft", "our text with nonce-2"
	stops := s.stops()
	s.paste(human)
	s.shows(human)
	s.deliver(ours)
	equal(s.t, "prompt", s.submitted(ours).Prompt, ours)
	s.until("the draft", func(s runtimes.Screen, _ string) bool { return s.Draft == human && !s.Stashed })
	s.stopped(stops)
	s.untilStatus(runtimes.StatusIdle)

	s.keys("C-s")
	s.until("the draft aside", func(s runtimes.Screen, _ string) bool { return s.Stashed && s.Draft == "" })
	s.deliver("and nonce-3")
	if c := s.submitted("nonce-3"); !strings.Contains(c.Prompt, human) {
		s.t.Errorf("the stash key no longer swaps a draft in: prompt %q", c.Prompt)
	}
}

// takesWhatIsTyped: the CLI wraps a text that is too large to count as typed. It counts the size in UTF-16 units.
func takesWhatIsTyped(s session) {
	for i, fill := range []string{
		strings.Repeat("x", 793), strings.Repeat("x", 794), strings.Repeat("é", 793), strings.Repeat("😀", 396), strings.Repeat("😀", 397),
		"\na\nb", "\na\nb\nc",
	} {
		text := fmt.Sprintf("size-%d ", i) + fill // "size-N " has 7 units
		c := s.turn(text)
		if whole := c.Prompt == strings.TrimSpace(text); whole != runtimes.FitsTyped(text) {
			s.t.Errorf("text %d (%.12q…): arrived whole is %v, FitsTyped says %v", i, fill, whole, !whole)
		}
	}
}

// takesSafePrompts: a safe prompt needs one Enter, whatever its last character is.
func takesSafePrompts(s session) {
	s.api.SetScript(claudetest.Says("OK"))
	for _, text := range []string{`a path C:\`, "look at @", "look at @note", "# no memory", "& no cloud", "? no help"} {
		safe := value(runtimes.SafePrompt(text))(s.t)
		if c := s.turn(safe); c.Prompt != text {
			s.t.Errorf("%q arrived as %q", text, c.Prompt)
		}
	}
}

// TestStopBlockWritesWithoutDialog: a prompt that looks like a flag is submitted as it is. The answer to a Stop reaches the agent, and the transcript, as a
// user's text with the nonce. No prompt hook reports it, but the next Stop does. In the mode that asks for everything,
// the rule for the directory is enough to write there without a dialog.
func TestStopBlockWritesWithoutDialog(t *testing.T) {
	t.Parallel()
	document := func(h claudetest.Home) string { return filepath.Join(h.Dir, "data", "handoffs", "x.md") }
	const first = "--first prompt"
	s := open(t, sessionConfig{
		change: func(s *runtimes.Spec) {
			s.Options = []string{"--disallowedTools", "WebFetch", "WebSearch"}
		},
		allow: func(h claudetest.Home) []string { return []string{"Edit(/" + filepath.Dir(document(h)) + "/**)"} },
		answer: func(h claudetest.Home) func(hookCall) string {
			return func(c hookCall) string {
				if c.Event != "Stop" || c.Active {
					return ""
				}
				b, _ := json.Marshal(map[string]string{"decision": "block",
					"reason": "[nonce-1] Write your handoff document to " + document(h) + " and stop."})
				return string(b)
			}
		},
	})
	s.idle()
	s.deliver(first)
	s.submitted(first)
	last := s.hooks.await(t, "a Stop with stop_hook_active", func(c hookCall) bool { return c.Event == "Stop" && c.Active })
	equal(s.t, "the document", string(value(os.ReadFile(document(s.home)))(s.t)), claudetest.Document)
	for _, c := range s.hooks.all() {
		if c.Event == "PermissionRequest" || (c.Event == "UserPromptSubmit" && c.Prompt != first) {
			t.Errorf("unexpected hook: %s", c.Payload)
		}
	}
	transcript := value(os.ReadFile(last.Transcript))(t)
	if !claude.Runtime.TranscriptContains(transcript, "nonce-1") {
		t.Error("the transcript has no user entry with the nonce")
	}
	shape := []byte(`"message":{"role":"user","content":"Stop hook feedback:\n[nonce-1] Write`)
	if !bytes.Contains(transcript, shape) {
		t.Errorf("the transcript has no %s", shape)
	}
}
