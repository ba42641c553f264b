package tmux_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// TestSwitchClients attaches a real client in a terminal of its own.
func TestSwitchClients(t *testing.T) {
	t.Parallel()
	server := tmuxtest.Server(t)
	socket := spawn(t, server, "before").Socket
	spawn(t, server, "after")
	must(t, server.SwitchClients(t.Context(), "before", "after"))
	attach(t, socket, 100, 30, []string{"attach-session", "-t", "=before"})
	attached := func() string {
		out, err := exec.Command("tmux", "-S", socket, "list-clients", "-F", "#{client_session}").Output()
		if err != nil {
			return err.Error()
		}
		return strings.TrimSpace(string(out))
	}
	tmuxtest.Eventually(t, "attached to the first session", func() bool { return attached() == "before" })
	must(t, server.SwitchClients(t.Context(), "before", "after"))
	tmuxtest.Eventually(t, "attached to the second session", func() bool { return attached() == "after" })
	for _, pair := range [][2]string{{"before", "gone"}, {"gone", "after"}, {"before", "a;kill-server"}} {
		wantErr(t, fmt.Sprintf("from %s to %s", pair[0], pair[1]), server.SwitchClients(t.Context(), pair[0], pair[1]))
	}
}

// TestSwitchedWindowFits: a client that types also sees all of the successor's window after a handoff, and a
// client that looks on changes no size there.
func TestSwitchedWindowFits(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	before := spawn(t, s, "before")
	looks(t, before, 60, 15)
	wantSize(t, before, "200x50 manual manual 200 50 1 attached")
	after := spawn(t, s, "after")
	wantSize(t, after, "200x50 manual 0 attached")
	must(t, s.SwitchClients(t.Context(), "before", "after"))
	wantSize(t, after, "200x50 manual 1 attached")
	typist := types(t, before, 80, 24)
	wantSize(t, before, "80x23 latest manual 200 50 1 attached")
	must(t, s.SwitchClients(t.Context(), "before", "after"))
	wantSize(t, after, "80x23 latest manual 200 50 2 attached")
	typist.leaves()
	settle(t, s)
	wantSize(t, after, "200x50 manual manual 200 50 1 attached")
}
