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

func TestGenerateEscCancels(t *testing.T) {
	t.Parallel()
	r, s, a := startGenerating(t, true)
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
	s.wantEnd(commands.ExitFailed, "Handoff cancelled")
	r.wantCancelled(a)
}

func TestGenerateRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*seat){
		"Esc":     func(s *seat) { s.typeKeys("\x1b") },
		"Ctrl-C":  func(s *seat) { s.typeKeys("\x03") },
		"SIGTERM": func(s *seat) { s.signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, s, a := startGenerating(t, true)
			fresh, other, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer fresh.Close()
			defer other.Close()
			before := terminalMode(t, other)
			r.await("the terminal in the mode of single keys", func() (bool, string) { return terminalMode(t, s.tty) != before, "lines" })
			end(s)
			if name == "SIGTERM" {
				h := r.latestHandoff(a.ID)
				s.wantEnd(commands.ExitFailed, r.notWatchedText(h))
				if h.Phase != daemon.Generating {
					t.Errorf("handoff is %s, want it to go on", h.Phase)
				}
			} else {
				s.wantEnd(commands.ExitFailed, "Handoff cancelled")
				r.wantCancelled(a)
			}
			if after := terminalMode(t, s.tty); after != before {
				t.Errorf("terminal mode is %+v, it was %+v", after, before)
			}
		})
	}
}

func TestGenerateInterruptCancelsInAPipe(t *testing.T) {
	t.Parallel()
	r, s, a := startGenerating(t, false)
	s.signal(os.Interrupt)
	s.wantEnd(commands.ExitFailed, "Handoff cancelled")
	r.wantCancelled(a)
	if n := strings.Count(s.shown(), show.GeneratingLabel+"\n"); n != 1 || strings.Contains(s.shown(), "\x1b") {
		t.Errorf("the label was printed %d times in %q", n, s.shown())
	}
}

// TestGenerateCannotBeCancelledAfterTheRecord: After the record Esc does nothing. Ctrl-C ends the command and not the
// handoff.
func TestGenerateCannotBeCancelledAfterTheRecord(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	a := r.startSpokenTo()
	r.misbehave("ignore-exit,ignore-term")
	s := r.sit(true, "handoff", fmt.Sprint(a.ID), "--mode", "generate", "--wait")
	s.awaitPrinted(". shutting down ", 1)
	s.typeKeys("\x1b")
	s.awaitPrinted(". shutting down ", 8)
	s.typeKeys("\x03")
	h := r.latestHandoff(a.ID)
	s.wantEnd(commands.ExitFailed, r.notWatchedText(h))
	if h.RecordedAt == nil || h.Status == daemon.StatusCancelled {
		t.Errorf("handoff is %s", h.Phase)
	}
}

// TestAgentModeIsNotCancelled: While the agent itself writes the document, Esc does nothing. Ctrl-C ends the command
// and not the handoff.
func TestAgentModeIsNotCancelled(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	a := r.startAgent(con)
	r.misbehave("think=1h")
	s := r.sit(true, "handoff", fmt.Sprint(a.ID), "--force", "--wait")
	s.awaitPrinted(". awaiting document ", 1)
	s.typeKeys("\x1b")
	s.awaitPrinted(". awaiting document ", 8)
	s.typeKeys("\x03")
	h := r.latestHandoff(a.ID)
	s.awaitPrinted(regexp.QuoteMeta(r.notWatchedText(h)), 1)
	if h.Phase != daemon.AwaitingDocument {
		t.Errorf("handoff is %s, want it to go on", h.Phase)
	}
}

func (s *seat) signal(sig os.Signal) {
	s.r.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.r.t.Fatal(err)
	}
}

// startGenerating runs a handoff in mode generate whose document takes long.
func startGenerating(t *testing.T, terminal bool) (*rig, *seat, daemon.Agent) {
	t.Helper()
	r := newRig(t).start()
	a := r.startSpokenTo()
	r.misbehave("think=1h")
	s := r.sit(terminal, "handoff", fmt.Sprint(a.ID), "--mode", "generate", "--wait")
	s.awaitPrinted(regexp.QuoteMeta(show.GeneratingLabel), 1)
	r.await("the fork", func() (bool, string) {
		h, err := r.client.LatestHandoff(t.Context(), a.ID)
		return err == nil && h.Phase == daemon.Generating && h.Note != "", h.Note
	})
	return r, s, a
}

func (r *rig) wantCancelled(a daemon.Agent) {
	r.t.Helper()
	h, err := r.client.LatestHandoff(r.t.Context(), a.ID)
	if err != nil || h.Status != daemon.StatusCancelled {
		r.t.Errorf("handoff is %s, %v; want it cancelled", h.Status, err)
	}
	if now := r.getAgent(a.ID); !now.Active() {
		r.t.Errorf("agent %+v did not live on", now)
	}
}

// notWatchedText is what the command prints when nobody watches the handoff any more.
func (r *rig) notWatchedText(h daemon.Handoff) string {
	return fmt.Sprintf("understudy: no longer watched; handoff %d goes on: `understudy handoff cancel %[1]d --data %s` cancels it until its document is recorded", h.ID, r.root)
}

// terminalMode is how a terminal treats what is typed.
func terminalMode(t testing.TB, tty *os.File) term.State {
	t.Helper()
	mode, err := term.GetState(int(tty.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return *mode
}
