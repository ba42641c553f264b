//go:build e2e

package claudetest_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/hooks/hookstest"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestHooks holds the scenes of the recording, with which the tests of the scripted agent and of the simulation compare their
// hooks, against those that can be played. With -update it plays them with the real CLI and writes the recording.
// TestRecordedVersions of daemon/runtimes wants it of the pinned version.
func TestHooks(t *testing.T) {
	t.Parallel()
	s := newShow(t)
	plays := s.plays()
	got := hookstest.Recording{Version: claudetest.Version}
	for _, act := range hookstest.Acts() {
		play := plays[act.Name]
		if play == nil {
			t.Fatalf("there is no function that plays the scene %s: %s", act.Name, act.Does)
		}
		if !*update {
			continue
		}
		ok := t.Run(act.Name, func(t *testing.T) {
			s.begin(t)
			play()
			scene := value(s.recorder.Scene(act.Name, s.payloads()...))(t)
			got.Scenes = append(got.Scenes, scene)
		})
		if !ok {
			t.Fatal("a scene before has failed, so the CLI is not in the state that this one needs")
		}
		if s.x.terminal != nil {
			s.x.t = t
		}
	}
	if !*update {
		return
	}
	text := value(got.Text())(t)
	must(t, os.WriteFile(filepath.Join("../../..", hookstest.Path), text, 0o644))
}

// show plays the scenes: in three sessions of the CLI, one after the other in one home, and in a one-shot.
type show struct {
	t        *testing.T // test of the current scene
	whole    *testing.T // test of all scenes
	api      *claudetest.FakeAPI
	home     claudetest.Home
	hooks    *hookLog
	x        session
	recorder hookstest.Recorder
	from     int // how many hooks had run when the scene began
	nags     bool

	mu     sync.Mutex
	answer func(hookCall) string // the scene's answers to hooks; nil for none
}

func newShow(t *testing.T) *show {
	t.Helper()
	s := &show{t: t, whole: t, api: claudetest.NewFakeAPI(t, claudetest.Says("OK"))}
	s.home = claudetest.Env(t, s.api)
	s.hooks = newHookLog(t, func(c hookCall) string {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.answer == nil {
			return ""
		}
		return s.answer(c)
	})
	s.hooks.events = hookstest.Events()
	return s
}

// begin begins a scene.
func (s *show) begin(t *testing.T) {
	s.t, s.nags = t, false
	if s.x.terminal != nil {
		s.x.t = t
	}
	s.answers(nil)
	s.api.SetScript(claudetest.Says("OK"))
	s.from = len(s.hooks.all())
}

func (s *show) answers(answer func(hookCall) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// payloads returns the payloads of the scene's hooks. Six seconds after a dialog the CLI sends a reminder. payloads leaves
// it out if the scene does not wait for it, because on a busy machine any scene may take that long.
func (s *show) payloads() (out [][]byte) {
	for _, c := range s.hooks.all()[s.from:] {
		if c.Event != "Notification" || s.nags {
			out = append(out, c.Payload)
		}
	}
	return out
}

// await waits until the scene has had n hooks of an event.
func (s *show) await(event string, n int) {
	s.t.Helper()
	poll(s.t, event, func() bool {
		had := 0
		for _, c := range s.hooks.all()[s.from:] {
			if c.Event == event {
				had++
			}
		}
		return had >= n
	})
}

// open starts a session with the command line that the daemon uses, and further arguments.
func (s *show) open(change func(*runtimes.Spec), args ...string) {
	s.x = openIn(s.whole, s.home, s.api, s.hooks, sessionConfig{change: change, args: args, allow: func(h claudetest.Home) []string {
		return []string{"Edit(/" + h.Workdir + "/**)", "Bash(cat *)"}
	}})
	s.x.t = s.t
	s.await("SessionStart", 1)
	s.x.idle()
}

// turn delivers a prompt, which the model answers by the script, and waits for that many Stops.
func (s *show) turn(prompt string, script claudetest.Script, stops int) {
	s.api.SetScript(script)
	s.x.deliver(prompt)
	s.await("Stop", stops)
	s.x.idle()
}

// ended waits for the end of the process.
func (s *show) ended() {
	s.await("SessionEnd", 1)
	waitGone(s.t, s.x.pid)
	s.x.end()
}

var choiceNo = regexp.MustCompile(`(\d)\. No`)

// asked delivers a prompt at which the model uses a tool that needs permission, and waits for the dialog.
func (s *show) asked(prompt string) {
	s.api.SetScript(claudetest.Ask(prompt, bash("touch asked"), claudetest.Says("done")))
	s.x.deliver(prompt)
	s.await("PermissionRequest", 1)
	s.x.untilStatus(runtimes.StatusWaiting)
	s.x.until("the dialog", func(s runtimes.Screen, _ string) bool { return strings.HasPrefix(s.Dialog, "permission: ") })
}

// reply answers a dialog. A dialog that has just opened ignores keys for a moment, so reply presses the key again. It
// waits before that until the CLI must have read the first key on any machine, because a second answer would be typed into
// the composer.
func (s *show) reply(key func(screen string) string) {
	const unheard = 20 * time.Second
	next := time.Now().Add(2 * settles)
	s.x.until("the end of the dialog", func(now runtimes.Screen, screen string) bool {
		if now.Dialog != "" && time.Now().After(next) {
			s.x.keys(key(screen))
			next = time.Now().Add(unheard)
		}
		return now.Dialog == ""
	})
}

// pipe makes a named pipe. A command that reads from it ends when finish is called.
func (s *show) pipe(name string) (path string, finish func()) {
	path = filepath.Join(s.home.Workdir, name)
	must(s.t, syscall.Mkfifo(path, 0o600))
	return path, func() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0) // blocks until the command reads
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			s.t.Error(err)
		}
	}
}

// bash returns a call of the Bash tool as models mostly make it: without the field run_in_background.
func bash(command string) claudetest.Reply {
	return claudetest.Reply{Tool: "Bash", Input: map[string]any{"command": command, "description": "test"}}
}

// summary answers the request of a compaction.
var summary = claudetest.Says("<summary>All was said.</summary>")

// block returns answers that block the hooks of an event for which also, if it is not nil, is true.
func block(event string, also func(hookCall) bool) func(hookCall) string {
	return func(c hookCall) string {
		if c.Event != event || also != nil && !also(c) {
			return ""
		}
		return `{"decision":"block","reason":"Say it again."}`
	}
}

// plays returns the functions that play the scenes, by name.
func (s *show) plays() map[string]func() {
	all := map[string]func(){
		"start": func() { s.open(nil) },
		"turn":  func() { s.turn("hello", claudetest.Says("Hello."), 1) },
		"tool": func() {
			edit := claudetest.Reply{Tool: "Edit", Input: map[string]any{"file_path": filepath.Join(s.home.Workdir, "notes.md"),
				"old_string": "", "new_string": "A line.\n", "replace_all": false}}
			s.turn("edit it", claudetest.Ask("edit it", edit, claudetest.Says("done")), 1)
		},
		"tool_fails": func() {
			fails := bash("cat " + filepath.Join(s.home.Workdir, "nowhere"))
			s.turn("read it", claudetest.Ask("read it", fails, claudetest.Says("done")), 1)
		},
		"stop_blocked": func() {
			s.answers(block("Stop", func(c hookCall) bool { return !c.Active }))
			s.turn("hello", claudetest.Says("Hello."), 2)
		},
		"prompt_refused": func() {
			s.answers(block("UserPromptSubmit", nil))
			s.x.deliver("hello")
			s.await("UserPromptSubmit", 1)
			s.x.shows("operation blocked by hook") // what is pressed before interrupts the hook, and the prompt stays
			s.x.until("the prompt in the composer", func(now runtimes.Screen, _ string) bool { return now.Draft == "hello" })
			s.x.keys("C-u")
			s.x.idle()
		},
		"clear": func() { s.x.deliver("/clear"); s.await("SessionStart", 1); s.x.idle() },
		"compact": func() {
			s.api.SetScript(summary)
			s.x.deliver("/compact keep the names")
			s.await("PostCompact", 1)
			s.x.idle()
		},
		"resume_command": func() { s.x.deliver("/resume " + sessionID); s.await("SessionStart", 1); s.x.idle() },
		"resume":         func() { s.remind(); s.open(func(spec *runtimes.Spec) { spec.Resume = sessionID }) },
		"idle": func() {
			s.nags = true
			s.turn("hello", claudetest.Says("Hello."), 1)
			s.await("Notification", 1)
		},
		"terminated": func() {
			must(s.t, syscall.Kill(s.x.pid, syscall.SIGTERM))
			s.ended()
		},
		"fork":       func() { s.open(func(spec *runtimes.Spec) { spec.Resume = sessionID }, "--fork-session") },
		"exit":       func() { s.x.deliver(claude.ExitText); s.ended() },
		"fork_print": s.print,
	}
	for _, more := range []map[string]func(){s.permissions(), s.twoAtOnce(), s.failures(), s.fullContexts()} {
		for name, play := range more {
			all[name] = play
		}
	}
	return all
}

func (s *show) permissions() map[string]func() {
	return map[string]func(){
		"permission_granted": func() {
			s.nags = true
			s.asked("grant it")
			s.await("Notification", 1)
			s.reply(func(string) string { return "Enter" })
			s.await("Stop", 1)
			s.x.idle()
		},
		"permission_refused": func() {
			s.asked("refuse it")
			no := choiceNo.FindStringSubmatch(s.x.screen())
			if no == nil {
				s.t.Fatal("the dialog has no No")
			}
			s.reply(func(screen string) string {
				if strings.Contains(screen, "❯ "+no[0]) { // the number alone selects, unless the dialog has just opened
					return "Enter"
				}
				return no[1]
			})
			s.x.idle()
		},
		"permission_escaped": func() {
			s.asked("escape it")
			s.reply(func(string) string { return "Escape" })
			s.x.idle()
		},
	}
}

// twoAtOnce returns the scenes in which something happens while a turn or a task runs.
func (s *show) twoAtOnce() map[string]func() {
	busy := func(prompt string) {
		s.api.SetScript(func(claudetest.Request) claudetest.Reply {
			return claudetest.Reply{Text: "To " + prompt + " I say this.\n\nThe second paragraph is where it holds.", Hold: true}
		})
		s.x.deliver(prompt)
		s.x.shows("To " + prompt + " I say this.")
	}
	return map[string]func(){
		"interrupted": func() { busy("stop it"); s.x.keys("Escape"); s.x.idle() },
		"queued": func() {
			busy("go on")
			s.x.deliver("and this")
			s.await("UserPromptSubmit", 2)
			s.x.shows("Queued")
			s.api.SetScript(claudetest.Says("OK"))
			s.api.Release()
			s.await("Stop", 2)
			s.x.idle()
		},
		"queued_in_tool": func() {
			path, finish := s.pipe("in-tool")
			s.api.SetScript(claudetest.Ask("read that", bash("cat "+path), claudetest.Says("done")))
			s.x.deliver("read that")
			s.await("PreToolUse", 1)
			s.x.deliver("and this")
			s.await("UserPromptSubmit", 2)
			finish()
			s.await("Stop", 1)
			s.x.idle()
		},
		"background": func() {
			path, finish := s.pipe("behind")
			s.turn("read behind", claudetest.Ask("read behind", claudetest.Bash("cat "+path, true), claudetest.Says("done")), 1)
			finish()
			s.await("Stop", 2)
			s.x.idle()
		},
		"exit_with_task": func() {
			path, _ := s.pipe("for-ever")
			s.turn("read on", claudetest.Ask("read on", claudetest.Bash("cat "+path, true), claudetest.Says("done")), 1)
			s.x.deliver(claude.ExitText)
			s.x.shows("Exit and stop tasks")
			s.x.keys("Enter")
			s.ended()
		},
	}
}

func (s *show) failures() map[string]func() {
	fails := func(status int, message string) func() {
		return func() {
			s.api.SetScript(claudetest.Fails(status, message))
			s.x.deliver("hello")
			s.await("StopFailure", 1)
			s.x.idle()
		}
	}
	return map[string]func(){
		"api_error": fails(400, "no such thing"), "rate_limit": fails(429, "slow down"), "login_expired": fails(401, "who are you"),
	}
}

func (s *show) fullContexts() map[string]func() {
	full := func() { // the API reports so much usage that the CLI takes its context for full
		s.turn("fill it", func(claudetest.Request) claudetest.Reply { return claudetest.Reply{Text: "OK", InputTokens: 975_000} }, 1)
		s.from = len(s.hooks.all())
	}
	return map[string]func(){
		"compact_refused": func() {
			full()
			s.answers(block("PreCompact", nil))
			s.turn("hello", claudetest.Says("Hello."), 1)
		},
		"compact_auto": func() {
			full()
			s.turn("hello", summary, 1)
			s.await("PostCompact", 1)
		},
	}
}

// remind makes the CLI remind people sooner that it waits for them.
func (s *show) remind() {
	path := filepath.Join(s.home.ConfigDir, ".claude.json")
	text := wardentest.Value(os.ReadFile(path))(s.t)
	settings := map[string]any{}
	must(s.t, json.Unmarshal(text, &settings))
	settings["messageIdleNotifThresholdMs"] = 100
	must(s.t, os.WriteFile(path, wardentest.Value(json.Marshal(settings))(s.t), 0o600))
}

// print asks a copy of the session as the daemon does, except that the hooks are those of the other scenes.
func (s *show) print() {
	fork, err := claude.Runtime.Fork(runtimes.ForkSpec{Command: []string{claudetest.Install(s.t)}, SessionID: sessionID,
		SettingsJSON: s.hooks.settings(s.t, nil), Prompt: "Write a handoff document."})
	must(s.t, err)
	cmd := exec.Command(fork.Argv[0], fork.Argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdin = append(s.home.Environ, hookVariable+"="+s.hooks.url), s.home.Workdir, bytes.NewReader(fork.Stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	s.await("SessionEnd", 1)
}
