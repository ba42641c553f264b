//go:build e2e

package stories

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"

	"github.com/creack/pty"

	"github.com/understudyd/understudy/cmd/internal/commands"
	"github.com/understudyd/understudy/daemon"
)

// askTmux is the answer of a tmux server to a command.
func askTmux(r *rig, socket string, args ...string) string {
	r.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-N", "-S", socket}, args...)...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("tmux %s: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// attachAt attaches from a terminal of this size.
func attachAt(r *rig, a daemon.Agent, columns, rows uint16, flags ...string) *seat {
	r.t.Helper()
	s := sit(r, true, append([]string{"agent", "attach", fmt.Sprint(a.ID)}, flags...)...)
	resize(r, s, a, columns, rows)
	return s
}

// resize gives the terminal another size and waits until the pane's tmux server knows it.
func resize(r *rig, s *seat, a daemon.Agent, columns, rows uint16) {
	r.t.Helper()
	want := fmt.Sprintf("%dx%d", columns, rows)
	r.await("a client of "+want, func() (bool, string) {
		if err := pty.Setsize(s.tty, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
			return false, err.Error()
		}
		got := askTmux(r, a.PaneSocket, "list-clients", "-F", "#{client_width}x#{client_height}")
		return strings.Contains(got, want), got + "\n" + s.shown()
	})
}

// detach leaves a session by tmux's own keys and waits until the command ends.
func (s *seat) detach(session string) {
	s.r.t.Helper()
	s.typeKeys("\x02d")
	s.awaitPrinted(regexp.QuoteMeta("[detached (from session "+session+")]"), 1)
	<-s.ended
	if code := s.code; code != commands.ExitDone {
		s.r.t.Errorf("exit code %d:\n%s", code, s.shown())
	}
}

// windowSize is the pane's size, with the window's setting that decides it.
func windowSize(r *rig, a daemon.Agent) string {
	r.t.Helper()
	return askTmux(r, a.PaneSocket, "display-message", "-p", "-t", *a.Pane, "#{pane_width}x#{pane_height}") + " " +
		askTmux(r, a.PaneSocket, "show-options", "-wqv", "-t", *a.Pane, "window-size") + " " +
		askTmux(r, a.PaneSocket, "show-options", "-wqv", "-t", *a.Pane, "@understudy-size")
}
