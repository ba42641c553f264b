package stories

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/understudyd/understudy/cmd/internal/commands"
	"github.com/understudyd/understudy/daemon"
)

// askTmux is the answer of a tmux server to a command.
func (r *rig) askTmux(socket string, args ...string) string {
	r.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-N", "-S", socket}, args...)...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("tmux %s: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// attachAt attaches from a terminal of this size.
func (r *rig) attachAt(a daemon.Agent, columns, rows uint16, flags ...string) *seat {
	r.t.Helper()
	s := r.sit(true, append([]string{"agent", "attach", fmt.Sprint(a.ID)}, flags...)...)
	r.resize(s, a, columns, rows)
	return s
}

// resize gives the terminal another size and waits until the pane's tmux server knows it.
func (r *rig) resize(s *seat, a daemon.Agent, columns, rows uint16) {
	r.t.Helper()
	want := fmt.Sprintf("%dx%d", columns, rows)
	r.await("a client of "+want, func() (bool, string) {
		if err := pty.Setsize(s.tty, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
			return false, err.Error()
		}
		got := r.askTmux(a.PaneSocket, "list-clients", "-F", "#{client_width}x#{client_height}")
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
func (r *rig) windowSize(a daemon.Agent) string {
	r.t.Helper()
	return r.askTmux(a.PaneSocket, "display-message", "-p", "-t", *a.Pane, "#{pane_width}x#{pane_height}") + " " +
		r.askTmux(a.PaneSocket, "show-options", "-wqv", "-t", *a.Pane, "window-size") + " " +
		r.askTmux(a.PaneSocket, "show-options", "-wqv", "-t", *a.Pane, "@understudy-size")
}

func TestAttachFromAnotherHostOrAfterTheEndIsRefused(t *testing.T) {
	t.Parallel()
	north, south := twoHosts(t)
	north.start()
	south.start()
	a := north.startAgent("")
	s := north.attachAt(a, 60, 15, "--keep-size")
	if got := north.windowSize(a); got != "200x50 manual manual 200 50" {
		t.Errorf("size %q", got)
	}
	s.detach(north.pane(a.ID).Session)
	there := map[string]string{"UNDERSTUDY_DATA": south.root}
	if code, _, errs := south.runInside(there, "", "agent", "attach", fmt.Sprint(a.ID)); code != commands.ExitFailed || errs != fmt.Sprintf("understudy: agent %d is on host north: run `understudy agent attach %[1]d` there\n", a.ID) {
		t.Errorf("attach from another host: exit code %d, %s", code, errs)
	}
	north.stopAgent(a.ID, true)
	north.awaitState(a.ID, daemon.Ended)
	if code, _, errs := south.runInside(there, "", "agent", "attach", fmt.Sprint(a.ID)); code != commands.ExitFailed || !strings.Contains(errs, "has ended: open its session again with `understudy agent resume") {
		t.Errorf("attach to an ended agent: exit code %d, %s", code, errs)
	}
}
