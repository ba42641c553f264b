//go:build e2e

package stories

import (
	"io"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/understudyd/understudy/daemon"
)

// TestAttachedPersonIsMovedToTheSuccessor: A person is attached to the outgoing agent. After the handoff they see the
// successor, without pressing a key.
func TestAttachedPersonIsMovedToTheSuccessor(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	a := r.startAgent("developer-con-1")
	socket := r.dir.TmuxSocket()
	client := exec.Command("tmux", "-u", "-S", socket, "attach-session", "-t", "="+"developer-con-1-"+strconv.FormatInt(a.ID, 10))
	client.Env = []string{"TERM=xterm-256color", "LANG=C.UTF-8"}
	terminal := value(pty.StartWithSize(client, &pty.Winsize{Rows: 50, Cols: 200}))(t)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, terminal) // It ends with the client.
	}()
	t.Cleanup(func() {
		_ = client.Process.Kill()
		_ = client.Wait()
		_ = terminal.Close()
		<-drained
	})
	sees := func(session string) {
		t.Helper()
		r.awaitEvery(tickOfScreens, "attached to "+session, func() (bool, string) {
			out, err := exec.Command("tmux", "-S", socket, "list-clients", "-F", "#{client_session}").CombinedOutput()
			got := strings.TrimSpace(string(out))
			return err == nil && got == session, got
		})
	}
	sees("developer-con-1-" + strconv.FormatInt(a.ID, 10))
	h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
	sees("developer-con-1-" + strconv.FormatInt(*h.SuccessorID, 10))
	r.await("the old pane is gone", func() (bool, string) {
		panes, err := r.tmux.List(t.Context())
		return err == nil && len(panes) == 1, strconv.Itoa(len(panes))
	})
}
