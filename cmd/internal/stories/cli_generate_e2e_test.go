//go:build e2e

package stories

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/understudyd/understudy/cmd/internal/commands"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/daemon"
)

// TestHandoffTakesKeysWhileItIsWatched: while a fork writes the document, Esc, Ctrl-C and in a pipe SIGINT cancel the handoff,
// and other keys do nothing. While the agent itself writes it, and after the record, Esc does nothing either. SIGTERM, or a
// Ctrl-C that cancels nothing, ends the command and not the handoff. The terminal is afterwards as it was.
func TestHandoffTakesKeysWhileItIsWatched(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	a, recorded := startSpokenTo(r), startSpokenTo(r)
	fresh, other, err := pty.Open()
	must(t, err)
	defer fresh.Close()
	defer other.Close()
	plain := terminalMode(t, other)
	r.misbehave("think=1h")

	s := watchGenerating(r, a, true)
	r.await("the terminal in the mode of single keys", func() (bool, string) { return terminalMode(t, s.tty) != plain, "lines" })
	s.typeKeys("\x1b[A\x1bOP#\x1bx") // They are an arrow, a function key, a letter, and a letter with Alt.
	frames := strings.Count(s.shown(), show.GeneratingLabel)
	s.awaitPrinted(regexp.QuoteMeta(show.GeneratingLabel), frames+8)
	if h := r.latestHandoff(a.ID); h.Phase != daemon.Generating {
		t.Fatalf("handoff is %s; want it generating", h.Phase)
	}
	if strings.Contains(s.shown(), "^[") || strings.Contains(s.shown(), "#") {
		t.Errorf("what was typed is shown: %q", s.shown())
	}
	s.typeKeys("\x1b")
	wantCancelled(r, s, a, plain)
	s = watchGenerating(r, a, true)
	s.typeKeys("\x03")
	wantCancelled(r, s, a, plain)
	s = watchGenerating(r, a, false)
	s.signal(os.Interrupt)
	wantCancelled(r, s, a, plain)
	if n := strings.Count(s.shown(), show.GeneratingLabel+"\n"); n != 1 || strings.Contains(s.shown(), "\x1b") {
		t.Errorf("the label was printed %d times in %q", n, s.shown())
	}
	s = watchGenerating(r, a, true)
	s.signal(syscall.SIGTERM)
	wantNotWatched(r, s, a, plain)
	cancelHandoff(r, a.ID, daemon.Generating)

	s = sit(r, true, "handoff", fmt.Sprint(a.ID), "--force", "--wait")
	s.awaitPrinted(". awaiting document ", 1)
	s.typeKeys("\x1b")
	s.awaitPrinted(". awaiting document ", 8)
	s.typeKeys("\x03")
	wantNotWatched(r, s, a, plain)

	r.misbehave("ignore-exit,ignore-term")
	s = sit(r, true, "handoff", fmt.Sprint(recorded.ID), "--mode", "generate", "--wait")
	s.awaitPrinted(". shutting down ", 1)
	s.typeKeys("\x1b")
	s.awaitPrinted(". shutting down ", 8)
	s.typeKeys("\x03")
	if h := wantNotWatched(r, s, recorded, plain); h.RecordedAt == nil {
		t.Errorf("handoff is %s", h.Phase)
	}
}

func (s *seat) signal(sig os.Signal) {
	s.r.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.r.t.Fatal(err)
	}
}

// watchGenerating runs a handoff in mode generate whose document takes long, and waits for the fork.
func watchGenerating(r *rig, a daemon.Agent, terminal bool) *seat {
	r.t.Helper()
	s := sit(r, terminal, "handoff", fmt.Sprint(a.ID), "--mode", "generate", "--wait")
	s.awaitPrinted(regexp.QuoteMeta(show.GeneratingLabel), 1)
	r.await("the fork", func() (bool, string) {
		h, err := r.client.LatestHandoff(r.t.Context(), a.ID)
		return err == nil && h.Phase == daemon.Generating && h.Note != "", h.Note
	})
	return s
}

func wantCancelled(r *rig, s *seat, a daemon.Agent, plain term.State) {
	r.t.Helper()
	s.wantEnd(commands.ExitFailed, "Handoff cancelled")
	s.wantTerminal(plain)
	equal(r.t, "the handoff", r.latestHandoff(a.ID).Status, daemon.StatusCancelled)
	if now := r.getAgent(a.ID); !now.Active() {
		r.t.Errorf("agent %+v did not live on", now)
	}
}

// wantNotWatched fails unless the command has ended and the handoff goes on.
func wantNotWatched(r *rig, s *seat, a daemon.Agent, plain term.State) daemon.Handoff {
	r.t.Helper()
	h := r.latestHandoff(a.ID)
	s.wantEnd(commands.ExitFailed, fmt.Sprintf("understudy: no longer watched; handoff %d goes on: `understudy handoff cancel %[1]d --data %s` cancels it until its document is recorded", h.ID, r.root))
	s.wantTerminal(plain)
	if h = r.getHandoff(h.ID); !h.Open() {
		r.t.Errorf("handoff is %s, want it to go on", h.Phase)
	}
	return h
}

// wantTerminal fails unless the seat's terminal, if it has one, is in this mode.
func (s *seat) wantTerminal(want term.State) {
	s.r.t.Helper()
	if s.tty == nil {
		return
	}
	if got := terminalMode(s.r.t, s.tty); got != want {
		s.r.t.Errorf("terminal mode is %+v, it was %+v", got, want)
	}
}

// terminalMode is how a terminal treats what is typed.
func terminalMode(t testing.TB, tty *os.File) term.State {
	t.Helper()
	mode := value(term.GetState(int(tty.Fd())))(t)
	return *mode
}
