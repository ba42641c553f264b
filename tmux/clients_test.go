package tmux_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// TestSwitchClients attaches a real client in a terminal of its own.
func TestSwitchClients(t *testing.T) {
	t.Parallel()
	server := tmuxtest.Server(t)
	dir := t.TempDir()
	var socket string
	for _, name := range []string{"before", "after"} {
		pane, err := server.Spawn(t.Context(), tmux.Spec{Session: name, Dir: dir, Argv: []string{"sleep", "600"}})
		if err != nil {
			t.Fatal(err)
		}
		socket = pane.Socket
	}
	if err := server.SwitchClients(t.Context(), "before", "after"); err != nil {
		t.Errorf("nobody is attached: %v", err)
	}
	client := exec.Command("tmux", "-u", "-S", socket, "attach-session", "-t", "=before")
	client.Env = []string{"TERM=xterm-256color", "LANG=C.UTF-8"}
	terminal, err := pty.Start(client)
	if err != nil {
		t.Fatal(err)
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		buf := make([]byte, 4096)
		for {
			if _, err := terminal.Read(buf); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = client.Process.Kill()
		_ = client.Wait()
		_ = terminal.Close()
		<-drained
	})
	attached := func() string {
		out, err := exec.Command("tmux", "-S", socket, "list-clients", "-F", "#{client_session}").Output()
		if err != nil {
			return err.Error()
		}
		return strings.TrimSpace(string(out))
	}
	tmuxtest.Eventually(t, "attached to the first session", func() bool { return attached() == "before" })
	if err := server.SwitchClients(t.Context(), "before", "after"); err != nil {
		t.Fatal(err)
	}
	tmuxtest.Eventually(t, "attached to the second session", func() bool { return attached() == "after" })
	for _, pair := range [][2]string{{"before", "gone"}, {"gone", "after"}, {"before", "a;kill-server"}} {
		if err := server.SwitchClients(t.Context(), pair[0], pair[1]); err == nil {
			t.Errorf("from %s to %s: no error", pair[0], pair[1])
		}
	}
}
