package tmux_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

func reportPercentiles(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	at := func(p int) float64 { return float64(took[(len(took)-1)*p/100].Microseconds()) / 1000 }
	b.ReportMetric(at(50), "p50-ms")
	b.ReportMetric(at(99), "p99-ms")
}

func newServer(t *testing.T, cfg tmux.Config) *tmux.Server {
	t.Helper()
	return value(tmux.New(cfg))(t)
}

func TestNewChecksTheSocket(t *testing.T) {
	t.Parallel()
	for _, socket := range []string{"", "relative", "/" + strings.Repeat("x", 107), "/a\nb"} {
		failed(tmux.New(tmux.Config{Socket: socket}))(t, fmt.Sprintf("socket %q", socket))
	}
	value(tmux.New(tmux.Config{Socket: "/" + strings.Repeat("x", 106)}))(t)
}

// TestNoServerByAccident: only Start and Spawn may start a server.
func TestNoServerByAccident(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(shortDir(t), "s")
	s := newServer(t, tmux.Config{Socket: socket})
	ref := tmux.Ref{Socket: socket, ServerPID: 1, ServerStart: 1, Pane: "%0"}
	ctx := t.Context()
	check := func(what string) {
		t.Helper()
		if panes, err := s.List(ctx); err != nil || len(panes) != 0 || panes == nil {
			t.Errorf("%s: list: got %v, %v, want an empty list", what, panes, err)
		}
		equal(t, what+": capture", len(value(s.Capture(ctx, 0, false, ref))(t)), 0)
		_, inspected := s.Inspect(ctx, ref)
		wantErr(t, what+": inspect", inspected, tmux.ErrNoServer)
		for _, err := range []error{inspected, s.Paste(ctx, ref, "x", tmux.PasteOptions{}), s.Keys(ctx, ref, tmux.Enter)} {
			wantErr(t, what, err, tmux.ErrGone)
		}
		if err := errors.Join(s.Kill(ctx, ref), s.KillServer(ctx)); err != nil {
			t.Errorf("%s: kill: %v", what, err)
		}
	}
	check("no socket")
	if _, err := os.Stat(socket); err == nil {
		t.Fatal("there is a socket")
	}
	must(t, os.WriteFile(socket, nil, 0o600)) // stands for a socket file on which nobody listens
	check("no listener")
}

func TestSpawnStartsTheServer(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	spec := tmux.Spec{Session: "a", Dir: "/", Argv: []string{"sleep", "100"}}
	old := made(t, s, spec)
	server := found(t, old.ServerPID)
	must(t, s.KillServer(t.Context()))
	if server.Alive() {
		t.Error("the server is alive after KillServer")
	}
	pane := made(t, s, spec)
	if pane.Pane != old.Pane || pane.ServerPID == old.ServerPID {
		t.Fatalf("got %s after %s, want the same id on another server", pane.Ref, old.Ref)
	}
	wantErr(t, "paste to the old one", s.Paste(t.Context(), old.Ref, "x", tmux.PasteOptions{}), tmux.ErrGone)
	failed(s.Inspect(t.Context(), old.Ref))(t, "look at the old one", tmux.ErrGone, tmux.ErrNoServer)
	gone := pane.Ref
	gone.Pane = "%999"
	if _, err := s.Inspect(t.Context(), gone); !errors.Is(err, tmux.ErrGone) || errors.Is(err, tmux.ErrNoServer) {
		t.Errorf("look at a pane that is gone: got %v, want ErrGone alone", err)
	}
}

// TestStartIsRepeatable: Start leaves the panes of a server that runs, and sets each option once: those that the daemon needs, and those
// that suit these CLIs and the people who attach.
func TestStartIsRepeatable(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	pane := spawn(t, s, "a")
	must(t, s.Start(t.Context()))
	if got, err := s.Inspect(t.Context(), pane.Ref); err != nil || got.Dead {
		t.Errorf("got %+v, %v", got, err)
	}
	options := command(t, pane.Socket, "show-options", "-s", ";", "show-options", "-g", ";", "show-options", "-gw", ";",
		"show-options", "-w", "-t", pane.Pane)
	for _, want := range []string{
		"exit-empty off", "message-limit 0", "history-limit 10000", "status off", "remain-on-exit on",
		"automatic-rename off", "allow-rename off", "window-size manual", "window-size latest",
		"escape-time 10", "focus-events on", "extended-keys on", "set-clipboard on",
	} {
		holds(t, "options", options, want+"\n")
	}
	if strings.Contains(options, "allow-passthrough on") || strings.Count(options, "*kitty*") != 1 {
		t.Errorf("options:\n%s", options)
	}
}

func TestStartWantsAPrivateFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(shortDir(t), "new", "run")
	s := newServer(t, tmux.Config{Socket: filepath.Join(dir, "s")})
	must(t, s.Start(t.Context()))
	must(t, s.KillServer(t.Context()))
	equal(t, "mode of the folder", value(os.Stat(dir))(t).Mode().Perm(), os.FileMode(0o700))
	must(t, os.Chmod(dir, 0o755)) //nolint:gosec // the point of the test
	wantErr(t, "a folder that others may use", s.Start(t.Context()), "chmod 700 "+dir)
}

// TestNoSecretsInPanes: panes must not see the daemon's secrets, although the server keeps the environment it was started with.
func TestNoSecretsInPanes(t *testing.T) {
	t.Setenv("UNDERSTUDY_TEST_SECRET", "hunter2")
	t.Setenv("TMUX", "/somewhere/else,1,0")
	s := tmuxtest.Server(t)
	out := filepath.Join(t.TempDir(), "env")
	pane := made(t, s, tmux.Spec{Session: "a", Dir: "/", Argv: []string{
		"sh", "-c", `env > "$0.tmp"; mv "$0.tmp" "$0"; sleep 100`, out,
	}})
	tmuxtest.Eventually(t, "env has run", func() bool { _, err := os.Stat(out); return err == nil })
	env, err := os.ReadFile(out)
	if err != nil || strings.Contains(string(env), "hunter2") || !strings.Contains(string(env), "TMUX_PANE="+pane.Pane+"\n") {
		t.Errorf("got %s, %v", env, err)
	}
	for line := range strings.Lines(string(env)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "TMUX="); ok {
			socket, pid, ok := tmux.FromEnv(value)
			if !ok || socket != pane.Socket || pid != pane.ServerPID {
				t.Errorf("FromEnv(%q) = %q, %d, %v; the pane is %s", value, socket, pid, ok, pane.Ref)
			}
		}
	}
}

// fakeTmux makes a program that takes tmux's place.
func fakeTmux(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tmux")
	writeProgram(t, path, "#!/bin/sh\n"+script+"\n")
	return path
}

// writeProgram writes a program. It keeps other tests from forking meanwhile: their child would hold the
// file open for writing, and the system would refuse to run it.
func writeProgram(t *testing.T, path, content string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	must(t, os.WriteFile(path, []byte(content), 0o700))
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]error{
		"tmux 3.3a": nil, "tmux 3.2": nil, "tmux 3.7c": nil, "tmux 10.0": nil, "tmux next-3.6": nil, "tmux master": nil,
		"tmux openbsd-7.4": nil, "tmux 3.1c": tmux.ErrTooOld, "tmux 2.9": tmux.ErrTooOld, "tmux 1.8": tmux.ErrTooOld,
	} {
		version, err := tmux.Check(t.Context(), fakeTmux(t, "echo "+said))
		if !errors.Is(err, want) || version != strings.TrimPrefix(said, "tmux ") {
			t.Errorf("%s: got %q, %v, want %v", said, version, err, want)
		}
	}
	for _, bin := range []string{"no-such-tmux-at-all", "/no/such/tmux"} {
		failed(tmux.Check(t.Context(), bin))(t, bin, tmux.ErrMissing)
		s := newServer(t, tmux.Config{Bin: bin, Socket: filepath.Join(shortDir(t), "s")})
		wantErr(t, "start of "+bin, s.Start(t.Context()), tmux.ErrMissing)
		failed(s.List(t.Context()))(t, "list of "+bin, tmux.ErrMissing)
	}
}

func TestDeadlineHasAName(t *testing.T) {
	t.Parallel()
	s := newServer(t, tmux.Config{
		Bin: fakeTmux(t, "exec sleep 100"), Socket: filepath.Join(shortDir(t), "s"), Timeout: 50 * time.Millisecond,
	})
	failed(s.List(t.Context()))(t, "slow", context.DeadlineExceeded, "tmux did not answer within 50ms")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	failed(s.List(ctx))(t, "cancelled", context.Canceled)
}

// TestInterruptedPasteLeavesNoBuffer: an interrupted paste leaves no text that every client of the server could read.
func TestInterruptedPasteLeavesNoBuffer(t *testing.T) {
	t.Parallel()
	real := tmuxtest.Server(t)
	pane := spawn(t, real, "a")
	// This program loads the buffer as tmux does, and then stops.
	broken := newServer(t, tmux.Config{Socket: pane.Socket, Bin: fakeTmux(t,
		`case "$5" in load-buffer) tmux -S "$3" load-buffer -b "$7" -; exit 1;; *) exec tmux "$@";; esac`)})
	if err := broken.Paste(t.Context(), pane.Ref, "secret", tmux.PasteOptions{}); err == nil ||
		errors.Is(err, tmux.ErrGone) || errors.Is(err, tmux.ErrDead) {
		t.Errorf("got %v, want an error that leaves open what happened", err)
	}
	equal(t, "left behind", command(t, pane.Socket, "list-buffers"), "")
}
