package tmux_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// everything calls each method that takes a Ref, and returns the errors.
func everything(t *testing.T, s *tmux.Server, ref tmux.Ref) map[string]error {
	t.Helper()
	errs := map[string]error{}
	errs["paste"] = s.Paste(t.Context(), ref, "text", tmux.PasteOptions{})
	errs["keys"] = s.Keys(t.Context(), ref, tmux.Enter)
	_, errs["inspect"] = s.Inspect(t.Context(), ref)
	shown, err := s.Capture(t.Context(), 0, false, ref)
	if err == nil && len(shown) == 0 {
		err = tmux.ErrGone // Capture reports a pane that is gone by its absence
	}
	errs["capture"] = err
	return errs
}

func wantGone(t *testing.T, what string, s *tmux.Server, ref tmux.Ref) {
	t.Helper()
	for command, err := range everything(t, s, ref) {
		wantErr(t, fmt.Sprintf("%s: %s", what, command), err, tmux.ErrGone)
	}
	if err := s.Kill(t.Context(), ref); err != nil {
		t.Errorf("%s: kill: %v", what, err)
	}
}

// TestImpostorIsNotTalkedTo: a program that listens in a tmux server's place could make a tmux client run any
// program. No client is run on its socket, whichever way the socket was named.
func TestImpostorIsNotTalkedTo(t *testing.T) {
	t.Parallel()
	fake := tmuxtest.NewImpostor(t)
	ref := tmux.Ref{Socket: fake.Socket, ServerPID: os.Getpid(), ServerStart: 1, Pane: "%0"}
	wantGone(t, "of a Ref", tmuxtest.Server(t), ref)
	foreign := newServer(t, tmux.Config{Socket: fake.Socket, Foreign: true})
	wantGone(t, "of a person's server", foreign, ref)
	equal(t, "panes", len(value(foreign.List(t.Context()))(t)), 0)
	if fake.Fooled() {
		t.Error("a tmux client talked to the impostor")
	}
}

// TestLookTakesNoTime: a socket whose queue is full, and on which nobody accepts, delays no caller for long.
func TestLookTakesNoTime(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	path := filepath.Join(dir, "sock")
	fd := value(syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0))(t)
	defer func() { _ = syscall.Close(fd) }()
	must(t, errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}), syscall.Listen(fd, 0)))
	waiting := value(syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0))(t)
	defer func() { _ = syscall.Close(waiting) }()
	must(t, syscall.Connect(waiting, &syscall.SockaddrUnix{Name: path}))
	s := tmuxtest.Server(t)
	began := time.Now()
	results := make(chan error)
	for range 20 {
		go func() {
			_, err := s.Inspect(t.Context(), tmux.Ref{Socket: path, ServerPID: os.Getpid(), ServerStart: 1, Pane: "%0"})
			results <- err
		}()
	}
	for range 20 {
		if err := <-results; err == nil || errors.Is(err, tmux.ErrGone) {
			t.Errorf("%v: want an error that says nothing about the pane", err)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("20 looks took %v", took)
	}
}

// copied makes a copy of the tmux program.
func copied(t *testing.T, to string) {
	t.Helper()
	from := value(exec.LookPath("tmux"))(t)
	b, err := os.ReadFile(from)
	if err == nil {
		err = errors.Join(os.WriteFile(to+".new", b, 0o700), os.Rename(to+".new", to))
	}
	must(t, err)
}

// TestServerOfAnotherProgram: a server is accepted if it runs our tmux program, even after a newer package
// replaced the program's file. A server that runs another program is refused.
func TestServerOfAnotherProgram(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	ours, other := filepath.Join(dir, "tmux"), filepath.Join(dir, "other")
	copied(t, ours)
	copied(t, other)
	server := newServer(t, tmux.Config{Bin: ours, Socket: filepath.Join(dir, "sock")})
	pane := made(t, server, tmux.Spec{Session: "person", Dir: dir, Argv: []string{"sleep", "60"}})
	t.Cleanup(func() { must(t, server.KillServer(context.WithoutCancel(t.Context()))) })
	reach := func(bin string) *tmux.Server {
		return newServer(t, tmux.Config{Bin: bin, Socket: filepath.Join(dir, "own")})
	}
	value(reach(ours).Inspect(t.Context(), pane.Ref))(t)
	copied(t, ours)
	value(reach(ours).Inspect(t.Context(), pane.Ref))(t)
	wantGone(t, "another program", reach(other), pane.Ref)
	later := pane.Ref
	later.ServerPID++
	wantGone(t, "another server", reach(ours), later)
}

// TestServerInAnotherNamespace: no command is run on the server of a container, even if its socket is visible here.
func TestServerInAnotherNamespace(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	socket := filepath.Join(dir, "sock")
	cmd := exec.Command("sh", "-c", `tmux -S "$1" -f /dev/null new-session -d sleep 60 && echo up && read line`, "sh", socket)
	tmuxtest.Contain(cmd)
	stdin := value(cmd.StdinPipe())(t)
	stdout := value(cmd.StdoutPipe())(t)
	if err := cmd.Start(); err != nil {
		t.Logf("this system lets nobody make a namespace: %v", err)
		return
	}
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() }) // and all that it contains
	equal(t, "contained tmux server", strings.TrimSpace(string(value(io.ReadAll(io.LimitReader(stdout, 3)))(t))), "up")
	peer := value(tmux.ServerAt(t.Context(), socket))(t)
	ref := tmux.Ref{Socket: socket, ServerPID: peer.PID, ServerStart: 1, Pane: "%0"}
	ours := tmuxtest.Server(t)
	wantGone(t, "contained", ours, ref)
	failed(ours.Inspect(t.Context(), ref))(t, "inspect", tmux.ErrNoServer, "namespace")
}

// TestSocketThatIsReplaced: a command talks to the very socket that was checked, although another socket takes
// its path again and again.
func TestSocketThatIsReplaced(t *testing.T) {
	t.Parallel()
	person := tmuxtest.Server(t)
	pane := made(t, person, tmux.Spec{Session: "person", Dir: "/", Argv: []string{"sleep", "60"}})
	fake := tmuxtest.NewImpostor(t)
	path := fake.Socket + ".link"
	ctx, stop := context.WithCancel(t.Context())
	swapped := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			for _, to := range []string{pane.Socket, fake.Socket} {
				if err := errors.Join(os.Symlink(to, path+".new"), os.Rename(path+".new", path)); err != nil {
					swapped <- err
					return
				}
			}
		}
		swapped <- nil
	}()
	ours := tmuxtest.Server(t)
	ref := pane.Ref
	ref.Socket = path
	found := 0
	for i := 0; i < 100 || found == 0 && i < 5000; i++ { // on a busy machine one of the two sockets may stay for long
		if _, err := ours.Inspect(t.Context(), ref); err == nil {
			found++
		}
	}
	stop()
	must(t, <-swapped)
	if fake.Fooled() || found == 0 {
		t.Errorf("fooled: %v; the person's server was found %d times", fake.Fooled(), found)
	}
}
