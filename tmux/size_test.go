package tmux_test

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// client is a real tmux client, in a terminal of its own.
type client struct {
	t    *testing.T
	cmd  *exec.Cmd
	keys func(string)
	got  func() string // what its terminal got
}

// attach runs a tmux command list in a terminal of the given size.
func attach(t *testing.T, socket string, columns, rows uint16, list ...[]string) client {
	t.Helper()
	args := []string{"-u", "-N", "-S", socket}
	for i, command := range list {
		if i > 0 {
			args = append(args, ";")
		}
		args = append(args, command...)
	}
	cmd := exec.Command("tmux", args...)
	cmd.Env = []string{"TERM=xterm-256color", "LANG=C.UTF-8"}
	terminal := value(pty.StartWithSize(cmd, &pty.Winsize{Cols: columns, Rows: rows}))(t)
	var mu sync.Mutex
	var text strings.Builder
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		buf := make([]byte, 4096)
		for {
			n, err := terminal.Read(buf)
			mu.Lock()
			text.Write(buf[:n])
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	c := client{t: t, cmd: cmd, keys: func(text string) {
		if _, err := terminal.WriteString(text); err != nil {
			t.Errorf("keys %q: %v", text, err)
		}
	}, got: func() string {
		mu.Lock()
		defer mu.Unlock()
		return text.String()
	}}
	t.Cleanup(func() {
		c.dies()
		_ = terminal.Close()
		<-drained
	})
	return c
}

// leaves detaches the client by tmux's own keys.
func (c client) leaves() {
	c.t.Helper()
	c.keys("\x02d")
	must(c.t, c.cmd.Wait())
}

// dies kills the client, as the loss of its machine would.
func (c client) dies() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// types attaches a client that types, and looks a client that looks on, as the command line does.
func types(t *testing.T, p tmux.PaneInfo, columns, rows uint16) client {
	t.Helper()
	list := append([][]string{{"attach-session", "-f", tmux.TypingFlags, "-t", p.Pane}}, tmux.Fit(p.Pane)...)
	return attach(t, p.Socket, columns, rows, list...)
}

func looks(t *testing.T, p tmux.PaneInfo, columns, rows uint16) client {
	t.Helper()
	return attach(t, p.Socket, columns, rows, append(tmux.Hold(p.Pane), []string{"attach-session", "-f", tmux.LookingFlags + ",read-only", "-t", p.Pane})...)
}

func spawn(t *testing.T, s *tmux.Server, session string) tmux.PaneInfo {
	t.Helper()
	return made(t, s, tmux.Spec{Session: session, Dir: t.TempDir(), Argv: []string{"sleep", "600"}})
}

func settle(t *testing.T, s *tmux.Server) {
	t.Helper()
	must(t, s.Settle(t.Context()))
}

func ask(t *testing.T, p tmux.PaneInfo, args ...string) string {
	t.Helper()
	return strings.TrimSpace(command(t, p.Socket, args...))
}

// size returns a pane's size, the size options of its window, and how many clients are attached.
func size(t *testing.T, p tmux.PaneInfo) string {
	t.Helper()
	return strings.Join(strings.Fields(strings.Join([]string{
		ask(t, p, "display-message", "-p", "-t", p.Pane, "#{pane_width}x#{pane_height}"),
		ask(t, p, "show-options", "-wqv", "-t", p.Pane, "window-size"),
		ask(t, p, "show-options", "-wqv", "-t", p.Pane, "@understudy-size"),
		fmt.Sprintf("%d attached", len(strings.Fields(ask(t, p, "list-clients", "-t", p.Pane, "-F", "#{client_pid}")))),
	}, " ")), " ")
}

func wantSize(t *testing.T, p tmux.PaneInfo, want string) {
	t.Helper()
	got := ""
	defer func() {
		if t.Failed() {
			t.Logf("size: %s", got)
		}
	}()
	tmuxtest.Eventually(t, "size: "+want, func() bool {
		got = size(t, p)
		return got == want
	})
}

// TestWindowFitsTheTypingClient: the window follows the client that typed last. A client that looks on changes
// nothing, even when it is alone. At the end the window has its own size again.
func TestWindowFitsTheTypingClient(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	p := spawn(t, s, "one")
	settle(t, s)

	looker := looks(t, p, 60, 15)
	wantSize(t, p, "200x50 manual manual 200 50 1 attached")
	first := types(t, p, 80, 24)
	wantSize(t, p, "80x23 latest manual 200 50 2 attached")
	second := types(t, p, 140, 40)
	wantSize(t, p, "140x39 latest manual 200 50 3 attached")
	first.keys("x")
	wantSize(t, p, "80x23 latest manual 200 50 3 attached")
	first.leaves()
	settle(t, s)
	wantSize(t, p, "140x39 latest manual 200 50 2 attached")
	second.leaves()
	settle(t, s)
	wantSize(t, p, "200x50 manual manual 200 50 1 attached")
	looker.leaves()
	settle(t, s)
	wantSize(t, p, "200x50 manual 0 attached")
}

// TestSizeAfterACrash: a client that was killed leaves the size changed; the next client restores it.
func TestSizeAfterACrash(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	p, other := spawn(t, s, "one"), spawn(t, s, "two")
	killed := types(t, p, 80, 24)
	wantSize(t, p, "80x23 latest manual 200 50 1 attached")
	killed.dies()
	wantSize(t, p, "80x23 latest manual 200 50 0 attached")
	next := types(t, other, 100, 30)
	wantSize(t, other, "100x29 latest manual 200 50 1 attached")
	next.leaves()
	settle(t, s)
	wantSize(t, other, "200x50 manual 0 attached")
	wantSize(t, p, "200x50 manual 0 attached")
}

// TestSizeOnAPersonsServer: when our last client has left, the server's size options are as before, and
// Settle has touched no window that our clients did not change.
func TestSizeOnAPersonsServer(t *testing.T) {
	t.Parallel()
	for before, after := range map[string]string{
		"":         "80x23 0 attached", // tmux's default: the size of the last client stays
		"smallest": "80x23 smallest 0 attached",
		"manual":   "200x50 manual 0 attached",
	} {
		t.Run("window-size "+before, func(t *testing.T) {
			t.Parallel()
			s := tmuxtest.Server(t)
			p := spawn(t, s, "person")
			if before == "" {
				ask(t, p, "set-option", "-wu", "-t", p.Pane, "window-size")
			} else {
				ask(t, p, "set-option", "-w", "-t", p.Pane, "window-size", before)
			}
			if got, want := size(t, p), strings.TrimSpace(strings.Join([]string{"200x50", before}, " "))+" 0 attached"; got != want {
				t.Fatalf("at first %q, want %q", got, want)
			}
			looker := looks(t, p, 60, 15)
			policy := before
			if before == "" {
				policy = "latest"
			}
			wantSize(t, p, "200x50 manual "+policy+" 200 50 1 attached")
			typist := types(t, p, 80, 24)
			wantSize(t, p, "80x23 latest "+policy+" 200 50 2 attached")
			looker.leaves()
			settle(t, s)
			wantSize(t, p, "80x23 latest "+policy+" 200 50 1 attached")
			typist.leaves()
			settle(t, s)
			wantSize(t, p, after)
		})
	}
}

// TestSettleBelievesNothing: any program may write anything into the option that keeps a window's size.
func TestSettleBelievesNothing(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	p := spawn(t, s, "one")
	for _, value := range []string{"x", "manual 1;kill-server 5", "latest;kill-server 1 1", "manual -1 5", "manual 5 5 5", "#(touch /tmp/x) 5 5"} {
		ask(t, p, "set-option", "-w", "-t", p.Pane, "@understudy-size", value)
		settle(t, s)
		wantSize(t, p, "200x50 manual "+value+" 0 attached")
	}
	settle(t, newServer(t, tmux.Config{Socket: t.TempDir() + "/none.sock"}))
}
