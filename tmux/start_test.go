package tmux_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/tmux"
)

// script writes a command that stands in for tmux, and returns its path. In the script, $real is the real tmux, and $dir a
// folder for its own files.
func script(t *testing.T, dir, text string) string {
	t.Helper()
	tmuxPath := value(exec.LookPath("tmux"))(t)
	path := filepath.Join(dir, "tmux")
	writeProgram(t, path, fmt.Sprintf("#!/bin/sh\nreal=%s\ndir=%s\n%s\nexec $real \"$@\"\n", tmuxPath, dir, text))
	return path
}

// endServer ends a server and its panes at the end of the test.
func endServer(t *testing.T, s *tmux.Server) {
	t.Cleanup(func() { must(t, s.KillServer(context.WithoutCancel(t.Context()))) })
}

// killServer kills the server in which a pane is, as the system does when memory is short, and leaves its socket behind.
func killServer(t *testing.T, of tmux.Ref) {
	t.Helper()
	server := found(t, of.ServerPID)
	must(t, syscall.Kill(of.ServerPID, syscall.SIGKILL))
	must(t, server.Wait(t.Context()))
}

func cat(name string) tmux.Spec {
	return tmux.Spec{Session: name, Dir: "/", Argv: []string{"cat"}, Mark: name}
}

// TestSpawnWhileAnotherStartsTheServer: the client of a Spawn found no server; before the Spawn looks why, another process has
// started one.
func TestSpawnWhileAnotherStartsTheServer(t *testing.T) {
	t.Parallel()
	for _, says := range []string{"no server running on $sock", "error connecting to $sock (No such file or directory)", "error connecting to $sock (Connection refused)"} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			dir := shortDir(t)
			bin := script(t, dir, `
sock=$dir/s
case "$*" in *new-session*) if [ -e $dir/armed ]; then
	rm $dir/armed
	$real -u -S $sock -f /dev/null start-server ';' set-option -s exit-empty off
	echo "`+says+`" >&2
	exit 1
fi;; esac`)
			s := newServer(t, tmux.Config{Socket: filepath.Join(dir, "s"), Bin: bin, Timeout: 30 * time.Second})
			endServer(t, s)
			first := made(t, s, cat("first"))
			killServer(t, first.Ref)
			must(t, os.WriteFile(filepath.Join(dir, "armed"), nil, 0o600))
			value(s.Spawn(t.Context(), cat("second")))(t)
			panes, err := s.List(t.Context())
			if err != nil || len(panes) != 1 || panes[0].Mark != "second" {
				t.Errorf("got %v, %v, want the one pane", panes, err)
			}
		})
	}
}

// TestLostServer: the server ends after it has taken the commands and before it has answered. What does no harm twice is asked
// again. A new session and a paste are not: the program may have run, and the text may have been read.
func TestLostServer(t *testing.T) {
	t.Parallel()
	for _, says := range []string{"server exited unexpectedly", "lost server", "server exited"} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			dir := shortDir(t)
			// The commands run. Then the server ends, and another process has started a new one.
			bin := script(t, dir, `
if [ -e $dir/armed ]; then case "$*" in *$(cat $dir/armed)*)
	rm $dir/armed
	kill -KILL $($real "$@" ';' display-message -p '#{pid}' | tail -n1)
	while $real -N -S $dir/s display-message -p x 2>/dev/null; do sleep 0.01; done
	$real -u -S $dir/s -f /dev/null start-server ';' set-option -s exit-empty off
	echo "`+says+`" >&2
	exit 1;; esac
fi`)
			s := newServer(t, tmux.Config{Socket: filepath.Join(dir, "s"), Bin: bin, Timeout: 30 * time.Second})
			endServer(t, s)
			ctx := t.Context()
			first := value(s.Spawn(ctx, cat("first")))(t)
			arm := func(command string) {
				t.Helper()
				must(t, os.WriteFile(filepath.Join(dir, "armed"), []byte(command), 0o600))
			}
			arm("paste-buffer")
			wantErr(t, "paste", s.Paste(ctx, first.Ref, "text", tmux.PasteOptions{}), tmux.ErrGone)
			arm("new-session")
			failed(s.Spawn(ctx, cat("second")))(t, "spawn", tmux.ErrLost)
			arm("list-panes")
			equal(t, "list", len(value(s.List(ctx))(t)), 0)
			arm("start-server")
			must(t, s.Start(ctx))
			value(s.Spawn(ctx, cat("third")))(t)
		})
	}
}

// TestManyStart: the first panes of many agents at once, in several processes of one data directory, on a busy machine, after
// the server was killed. Each pane comes, once, and all are in one server.
func TestManyStart(t *testing.T) {
	t.Parallel()
	const processes, each = 3, 4
	socket := filepath.Join(shortDir(t), "s")
	var servers []*tmux.Server
	for range processes {
		servers = append(servers, newServer(t, tmux.Config{Socket: socket, Timeout: 30 * time.Second}))
	}
	endServer(t, servers[0])
	for range 4 {
		loop := exec.CommandContext(t.Context(), "/bin/sh", "-c", "while :; do :; done")
		must(t, loop.Start())
		t.Cleanup(func() { _ = loop.Wait() }) // the end of the test's context has killed it
	}
	var before tmux.Ref
	for round := range 4 {
		if round > 0 {
			killServer(t, before)
		}
		var spawns sync.WaitGroup
		var at sync.Map
		for i, s := range servers {
			for j := range each {
				spawns.Go(func() {
					name := fmt.Sprintf("a%d-%d", i, j)
					pane, err := s.Spawn(t.Context(), cat(name))
					if err != nil {
						t.Errorf("round %d: %v", round, err)
					}
					at.Store(pane.ServerPID, true)
				})
			}
		}
		spawns.Wait()
		panes, err := servers[0].List(t.Context())
		if err != nil || len(panes) != processes*each {
			t.Fatalf("round %d: %d panes, %v; want %d", round, len(panes), err, processes*each)
		}
		before = panes[0].Ref
		at.Range(func(pid, _ any) bool {
			equal(t, fmt.Sprintf("round %d: server of the pane", round), pid, before.ServerPID)
			return true
		})
	}
}
