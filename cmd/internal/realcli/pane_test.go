//go:build e2e

package realcli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// session is one CLI in the only pane of its own tmux server.
type session struct {
	t      *testing.T
	server *tmux.Server
	ref    tmux.Ref
	cli    CLI
	api    *claudetest.FakeAPI
	home   Home
	began  time.Time
	output string // a file with all that the CLI has written
}

// start runs the CLI in a pane of 120 columns and 40 lines.
func start(t *testing.T, cli CLI, api *claudetest.FakeAPI, home Home, args ...string) *session {
	t.Helper()
	s := &session{t: t, server: tmuxtest.Server(t), cli: cli, api: api, home: home, output: filepath.Join(t.TempDir(), "output")}
	argv := append([]string{"sh", "-c", `tmux pipe-pane -O "cat >'$1'"; shift; exec "$@"`, "sh", s.output}, home.Command(Install(t, cli), args...)...)
	s.began = time.Now()
	pane := value(s.server.Spawn(t.Context(), tmux.Spec{Session: "cli", Dir: home.Workdir, Argv: argv, Width: 120, Height: 40}))(t)
	s.ref = pane.Ref
	t.Cleanup(func() {
		if t.Failed() {
			view, title := s.view()
			t.Logf("after %v, title %q:\n%s", time.Since(s.began), title, view)
			for _, r := range api.Requests() {
				t.Logf("request of %s, aside %q, new texts %q", r.CLI, r.Aside, r.NewTexts())
			}
		}
	})
	return s
}

// view returns the screen and the title of the pane.
func (s *session) view() (screen, title string) {
	s.t.Helper()
	ctx := context.WithoutCancel(s.t.Context()) // for the report of a failed test
	view := value(s.server.Capture(ctx, 0, false, s.ref))(s.t)
	return view[s.ref.Pane], s.info().Title
}

func (s *session) info() tmux.PaneInfo {
	s.t.Helper()
	return value(s.server.Inspect(context.WithoutCancel(s.t.Context()), s.ref))(s.t)
}

const (
	lookEvery = 100 * time.Millisecond
	settles   = 400 * time.Millisecond // how long a screen must stay the same before a test believes it
	patience  = 3 * time.Minute        // a start under load takes long: 76 s were measured with OpenCode
)

// until looks at the pane until ok is true.
func (s *session) until(what string, ok func(screen, title string) bool) {
	s.t.Helper()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		dead := s.info().Dead // before the look, which then sees the last that the CLI has shown
		if ok(s.view()) {
			return
		}
		if dead || time.Now().After(deadline) {
			s.t.Fatalf("waited in vain for %s; the CLI has ended: %v", what, dead)
		}
	}
}

// still waits until the parts of the pane that read returns have been the same for a while.
func (s *session) still(what string, read func(screen, title string) (part string, ok bool)) {
	s.t.Helper()
	last, since := "", time.Now()
	s.until(what, func(screen, title string) bool {
		part, ok := read(screen, title)
		if !ok || part != last {
			last, since = part, time.Now()
		}
		return ok && time.Since(since) >= settles
	})
}

// shows waits for a text on the screen.
func (s *session) shows(text string) {
	s.t.Helper()
	s.until("the text "+text, func(screen, _ string) bool { return strings.Contains(screen, text) })
}

// signs are what the pane of each CLI shows when a person may type.
var signs = map[CLI]struct{ screen, title string }{
	Codex:    {screen: "← for agents"},
	OpenCode: {screen: "ctrl+p commands"},
	Pi:       {screen: " π > "},
	Gemini:   {screen: "Type your message", title: "◇  Ready"},
}

// ready waits until the CLI shows an empty composer and takes a paste as one piece. Gemini switches bracketed paste on
// some time after it has drawn its composer. Until then it takes each character for a key: a "?" opens its help.
func (s *session) ready() {
	s.t.Helper()
	s.still("an empty composer", func(screen, title string) (string, bool) {
		sign := signs[s.cli]
		return screen, strings.Contains(screen, sign.screen) && strings.Contains(title, sign.title) && !busy(screen, title) && s.brackets()
	})
}

// brackets reports whether the CLI has switched bracketed paste on.
func (s *session) brackets() bool {
	s.t.Helper()
	output, err := os.ReadFile(s.output)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	return bytes.LastIndex(output, []byte("\x1b[?2004h")) > bytes.LastIndex(output, []byte("\x1b[?2004l"))
}

// busy reports whether the pane shows a running turn.
func busy(screen, title string) bool {
	return strings.ContainsAny(title, "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") || strings.Contains(title, "Working") ||
		strings.Contains(screen, "esc interrupt") || strings.Contains(screen, "again to interrupt") || strings.Contains(screen, "⎋ Working") || strings.Contains(screen, "esc to cancel")
}

// draft puts a text into the composer and waits until the CLI shows it. OpenCode shows only how many lines a longer text
// has.
func (s *session) draft(text string) {
	s.t.Helper()
	must(s.t, s.server.Paste(s.t.Context(), s.ref, text, tmux.PasteOptions{}))
	lines := strings.Split(text, "\n")
	s.still("the draft "+text, func(screen, title string) (string, bool) {
		if rt, _ := catalog.For(string(s.cli)); s.cli == Gemini && !rt.ReadScreen(runtimes.View{Text: screen, Title: title}).Composer {
			return "", false // its menu lags behind a command, and Enter would carry out the first command of the menu
		}
		return "", strings.Contains(screen, lines[0]) && strings.Contains(screen, lines[len(lines)-1]) || strings.Contains(screen, "[Pasted")
	})
}

// submit gives the CLI a text. Enter comes after the text stands in the composer, because a menu of the CLI may take an
// Enter that comes with it. Gemini drops an Enter that comes at a bad moment: if the text stands in its composer a while
// later, submit presses Enter again, at most twice.
func (s *session) submit(text string) {
	s.t.Helper()
	s.draft(text)
	asked := len(s.api.Requests())
	s.keys(tmux.Enter)
	pressed, again := time.Now(), 0
	if s.cli == Gemini {
		again = 2
	}
	s.until("the submission of "+text, func(screen, _ string) bool {
		if len(s.api.Requests()) > asked || s.info().Dead {
			return true
		}
		composer := screen[max(0, strings.LastIndex(screen, "────")):]
		if again > 0 && time.Since(pressed) > 1500*time.Millisecond && strings.Contains(composer, text) {
			s.keys(tmux.Enter)
			pressed, again = time.Now(), again-1
		}
		return false
	})
}

func (s *session) keys(keys ...tmux.Key) {
	s.t.Helper()
	must(s.t, s.server.Keys(s.t.Context(), s.ref, keys...))
}
