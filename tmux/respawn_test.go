package tmux_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

var respawns = flag.Int("respawns", 20, "how often TestRespawnWhileClientsLook takes a pane over")

// takenOver waits until the program in a pane has ended and another one is started there.
func takenOver(t *testing.T, s *tmux.Server, pane tmux.Ref, mark string, spec tmux.Spec) (heir tmux.PaneInfo) {
	t.Helper()
	tmuxtest.Eventually(t, "the pane is taken over", func() bool {
		got, err := s.Respawn(t.Context(), tmux.Place{Ref: pane, Mark: mark}, spec)
		heir = got
		return err == nil
	})
	return heir
}

// TestRespawnPassesEachByteOn: neither a path nor an argument is read as a command or a format.
func TestRespawnPassesEachByteOn(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	dir := filepath.Join(t.TempDir(), `it's a "dir" #(touch mark) $HOME ; %H`)
	must(t, os.MkdirAll(dir, 0o700))
	pane := made(t, s, tmux.Spec{Session: "a", Mark: "1", Dir: "/", Argv: []string{"true"}})
	arg := `'"'; kill-server; $(id) #{pid} ~ \ {x} %1;`
	spec := tmux.Spec{Session: "b", Mark: "2", Dir: dir, Argv: []string{"sh", "-c", `printf '%s\n' "$PWD" "$1" >out; exec cat`, "sh", arg}}
	takenOver(t, s, pane.Ref, "1", spec)
	want := dir + "\n" + arg + "\n"
	tmuxtest.Eventually(t, "what the program got", func() bool {
		got, err := os.ReadFile(filepath.Join(dir, "out"))
		return err == nil && string(got) == want
	})
	failed(os.Stat(filepath.Join(dir, "mark")))(t, "a command in a path was run")
}

// TestRespawnWhileClientsLook takes a pane over again and again while a client looks at it: the client stays and the server
// lives.
func TestRespawnWhileClientsLook(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	pane := made(t, s, tmux.Spec{Session: "n0", Mark: "0", Dir: "/", Argv: []string{"sh", "-c", "echo begin; exit 0"}})
	looks(t, pane, 80, 24)
	for i := range *respawns {
		spec := tmux.Spec{Session: fmt.Sprint("n", i+1), Mark: fmt.Sprint(i + 1), Dir: "/", Argv: []string{"sh", "-c", "seq 300; exit 0"}}
		if got := takenOver(t, s, pane.Ref, fmt.Sprint(i), spec); got.Ref != pane.Ref {
			t.Fatalf("%s was taken over, not %s", got.Ref, pane.Ref)
		}
	}
	equal(t, "the client looks at", strings.TrimSpace(command(t, pane.Socket, "list-clients", "-F", "#{session_name} #{pane_id}")), fmt.Sprintf("n%d %s", *respawns, pane.Pane))
}

// TestNoRespawnWhileAClientIsInControlMode: the place is not taken, and can be closed.
func TestNoRespawnWhileAClientIsInControlMode(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	pane := made(t, s, tmux.Spec{Session: "a", Mark: "1", Dir: "/", Argv: []string{"true"}})
	tmuxtest.Eventually(t, "dead", func() bool { p, err := s.Inspect(t.Context(), pane.Ref); return err == nil && p.Dead })
	control := controlClient(t, pane.Socket, "a")
	at, spec := tmux.Place{Ref: pane.Ref, Mark: "1", Close: true}, tmux.Spec{Session: "b", Mark: "2", Dir: "/", Argv: []string{"cat"}}
	failed(s.Respawn(t.Context(), at, spec))(t, "the second time", tmux.ErrChanged)
	control()
	at.Close = false
	failed(s.Respawn(t.Context(), at, spec))(t, "the place was not closed", tmux.ErrChanged)
}

// TestLateKillSparesTheSuccessor: tmux is told to end the pane of a program, hangs, and carries it out when another program has
// taken the pane. That one lives.
func TestLateKillSparesTheSuccessor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	slow := script(t, dir, `case "$*" in *kill-pane*) touch $dir/asked; until [ -e $dir/go ]; do sleep 0.02; done;; esac`)
	s := tmuxtest.Server(t)
	for name, kill := range map[string]func(s *tmux.Server, old tmux.PaneInfo) error{
		"kill":   func(s *tmux.Server, old tmux.PaneInfo) error { return s.Kill(t.Context(), old.Ref) },
		"marked": func(s *tmux.Server, old tmux.PaneInfo) error { return s.KillMarked(t.Context(), old.Ref, old.Mark) },
	} {
		old := made(t, s, tmux.Spec{Session: name, Mark: "old", Dir: "/", Argv: []string{"true"}})
		late := newServer(t, tmux.Config{Bin: slow, Socket: old.Socket})
		done := make(chan error, 1)
		go func() { done <- kill(late, old) }()
		tmuxtest.Eventually(t, "tmux is asked to kill", func() bool { _, err := os.Stat(filepath.Join(dir, "asked")); return err == nil })
		heir := takenOver(t, s, old.Ref, "old", tmux.Spec{Session: name + "-heir", Mark: "heir", Dir: "/", Argv: []string{"sh", "-c", "cat; exit 0"}})
		must(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
		if err := <-done; err != nil {
			t.Error(name, err)
		}
		if now, err := s.Inspect(t.Context(), heir.Ref); err != nil || now.Dead || now.PID != heir.PID {
			t.Errorf("%s: the successor: %+v, %v", name, now, err)
		}
		_, _ = os.Remove(filepath.Join(dir, "go")), os.Remove(filepath.Join(dir, "asked"))
	}
}

// controlClient attaches a client in control mode, as iTerm2 does, and returns a function that ends it.
func controlClient(t *testing.T, socket, session string) (end func()) {
	t.Helper()
	cmd := exec.Command("tmux", "-C", "-u", "-N", "-S", socket, "attach-session", "-t", "="+session)
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	must(t, err)
	modes := func() string { return command(t, socket, "list-clients", "-F", "#{client_control_mode}") }
	tmuxtest.Eventually(t, "a client in control mode", func() bool { return strings.Contains(modes(), "1") })
	return func() {
		_ = in.Close()
		_ = cmd.Wait()
		tmuxtest.Eventually(t, "no client in control mode", func() bool { return !strings.Contains(modes(), "1") })
	}
}
