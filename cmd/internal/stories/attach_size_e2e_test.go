//go:build e2e

package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/commands"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// counter is a program that writes a line each time its pane gets another size.
const counter = `trap 'echo resized >>resized' WINCH; sleep 600 & : >resized; while kill -0 $!; do wait $!; done`

// TestAttachIgnoringSizeKeepsTheWindowSize: On a person's own tmux server, two clients of other sizes come and go.
// tmux would make the window follow the size of the only client, but `attach` asks both not to change it, and the
// agent sees no other size.
func TestAttachIgnoringSizeKeepsTheWindowSize(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	theirs := tmuxtest.Server(t)
	shell := value(theirs.Spawn(t.Context(), tmux.Spec{Session: "person", Dir: r.work, Argv: []string{"sh", "-c", counter}}))(t)
	// This is the default of windows that tmux makes by itself.
	askTmux(r, shell.Socket, "set-option", "-wu", "-t", shell.Pane, "window-size")
	askTmux(r, shell.Socket, "split-window", "-d", "-t", shell.Pane, "sleep", "600")
	r.await("the counter", func() (bool, string) {
		_, err := os.Stat(filepath.Join(r.work, "resized"))
		return err == nil, ""
	})
	a := registerBySpool(r, "theirs", shell)
	before, told := windowSize(r, a), r.readFile(filepath.Join(r.work, "resized")) // It was told when tmux split the window.
	if !strings.HasSuffix(before, "  ") {
		t.Fatalf("the size is %q, want one that tmux may change", before)
	}

	// The command runs inside another tmux server.
	r.cfg.Environ = append(r.cfg.Environ, "TMUX=/nowhere/default,1,0", "TMUX_PANE=%99")
	held := strings.TrimRight(before, " ") + " manual latest 200 50"
	first := attachAt(r, a, 60, 15, "--keep-size")
	second := attachAt(r, a, 250, 80, "--read-only")
	equal(t, "with two clients the size", windowSize(r, a), held)
	flags := askTmux(r, a.PaneSocket, "list-clients", "-F", "#{client_flags}")
	if strings.Count(flags, "ignore-size") != 2 || strings.Count(flags, "read-only") != 1 {
		t.Errorf("flags of the clients: %s", flags)
	}
	first.detach("person")
	resize(r, second, a, 40, 10)
	equal(t, "with one client the size", windowSize(r, a), held)
	second.detach("person")
	equal(t, "without clients the size", windowSize(r, a), before)
	equal(t, "the agent saw the size", r.readFile(filepath.Join(r.work, "resized")), told)
	askTmux(r, a.PaneSocket, "resize-window", "-t", *a.Pane, "-x", "70", "-y", "20")
	r.await("the counter counts", func() (bool, string) { return r.readFile(filepath.Join(r.work, "resized")) != told, "" })

	inside := map[string]string{"UNDERSTUDY_DATA": r.root, "TMUX": fmt.Sprintf("%s,%d,0", shell.Socket, shell.ServerPID)}
	id := fmt.Sprint(a.ID)
	if code, out, errs := runWith(r, inside, "", "agent", "attach", id, "--print"); code != commands.ExitDone || !strings.Contains(out, " switch-client -t "+shell.Pane+" ';' select-window") {
		t.Errorf("attach inside tmux: exit code %d, %s, %s", code, out, errs)
	}
	if code, _, errs := runWith(r, inside, "", "agent", "attach", id, "--read-only"); code != commands.ExitFailed || !strings.Contains(errs, "in another terminal") {
		t.Errorf("attach --read-only inside tmux: exit code %d, %s", code, errs)
	}
}

// TestAttachResizesTheAgentToTheTerminal: An agent has the size of the terminal that started it. While somebody types
// at another terminal it has the size of that one, which shows all of it. So does a successor that starts meanwhile.
func TestAttachResizesTheAgentToTheTerminal(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	sit(r, true, "agent", "start", con, "--cwd", r.work, "--wait").awaitPrinted("agent 1 .* in pane", 1) // at 100x50
	a := newestAgent(r)
	wantSize(r, a, "100x50 manual ")

	s := startInPane(r, 80, 24, "agent", "attach", fmt.Sprint(a.ID))
	wantSize(r, a, "80x23 latest manual 100 50")
	s.press("-l", "do I see what I type?")
	s.awaitScreen("❯\u00a0do I see what I type?", "\n"+strings.Repeat("─", 80)+"\n")
	seen, shown := strings.TrimSpace(s.runTmux("capture-pane", "-p")), askTmux(r, a.PaneSocket, "-u", "capture-pane", "-p", "-t", *a.Pane)
	seen, line := seen[:strings.LastIndexByte(seen, '\n')], seen[strings.LastIndexByte(seen, '\n')+1:]
	equal(t, "the terminal shows what the pane does", strings.TrimSpace(seen), shown)
	if !strings.HasPrefix(line, " 1 "+con) || !strings.Contains(line, "idle") || !strings.HasSuffix(line, "C-b (C-b) d leaves") {
		t.Errorf("the line of the pane is %q", line)
	}
	s.press("C-u")
	next := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed).SuccessorID
	b := value(r.client.Agent(t.Context(), *next))(t)
	wantSize(r, b, "80x23 latest manual 100 50")
	s.detachFrom()
	wantSize(r, b, "100x50 manual ")

	top := startTop(r, 140, 40)
	top.awaitScreen("attach")
	top.press("a")
	wantSize(r, b, "140x39 latest manual 100 50")
	top.press("C-b", "d")
	wantSize(r, b, "100x50 manual ")
}

// detachFrom leaves the agent that the operator's pane shows, and the pane ends with the command. The keys must
// reach the inner tmux, so send-keys is bound to nothing in the outer one.
func (s *topPane) detachFrom() {
	s.t.Helper()
	s.press("C-b", "d")
	s.awaitEvery(tickOfScreens, "the end of attach", func() (bool, string) { return s.command("has-session").Run() != nil, "" })
}

// wantSize waits until windowSize returns this.
func wantSize(r *rig, a daemon.Agent, want string) {
	r.t.Helper()
	r.awaitEvery(tickOfScreens, "a window of "+want, func() (bool, string) {
		got := windowSize(r, a)
		return got == want, got
	})
}
