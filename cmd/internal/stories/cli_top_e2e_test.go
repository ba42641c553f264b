//go:build e2e

package stories

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
)

// click sends what a terminal sends for a click, counted from 1.
func (s *topPane) click(column, line int) {
	s.t.Helper()
	s.runTmux("send-keys", "-l", fmt.Sprintf("\x1b[<0;%d;%dM\x1b[<0;%[1]d;%[2]dm", column, line))
}

// TestTopIsTheSeat: from top alone the operator starts an agent, writes to it, watches its pane, stops it and opens its
// session again, by keys and by the mouse.
func TestTopIsTheSeat(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	first := startSpokenTo(r)
	s := startTop(r, 130, 30)
	s.awaitScreen("1 finished", "│ ─ agent 1 (developer-con-1)  finished", "❯ Find out why the tests are slow") // the preview

	s.press("N")
	s.awaitScreen("New agent", "‹ developer-con-1 ›", "directory  "+r.work)
	s.press("Tab", "Tab", "Tab", "checkout", "Tab", "@say I am", "C-j", "the checkout", "Enter")
	s.awaitScreen("agent 2 has taken the text", "▸◆  2   checkout", "│ ─ agent 2 (checkout)  finished", "said       I am")
	if a := r.getAgent(2); a.Name != "checkout" || a.PersonaSlug() != con || a.Cwd != r.work {
		t.Errorf("the new agent is %q, %q, in %s", a.Name, a.PersonaSlug(), a.Cwd)
	}

	release := r.holdTurn(2, "work")
	s.awaitScreen("▸●  2   checkout  ")
	s.press("m")
	s.awaitScreen("Message to agent 2 (checkout)")
	s.press("one", "C-j", "two", "Enter")
	s.awaitScreen("queued for agent 2: agent 2 is in a turn; it gets the text when the turn ends")
	release()
	s.awaitScreen("agent 2 has taken the text", "said       Noted: “one two”") // lines are said in one line
	s.press("m", "/compact", "Enter")
	s.awaitScreen("one of its commands: /compact. Send it as a command?")
	s.press("Escape")
	s.awaitScreen("text  /compact", "Enter send")
	s.press("Escape")
	s.awaitScreen("N new")

	s.click(10, 3) // the first row
	s.awaitScreen("│ ─ agent 1 (developer-con-1)")
	s.awaitScreen("1 idle", "▸○  1   ") // what it finished was in front of the operator for two seconds
	s.press("Tab")
	s.awaitScreen("▸◆  2   checkout")

	s.press("s")
	s.awaitScreen("Stop agent 2 (checkout)?", "It is asked to exit", "y stop  f end it at once")
	s.press("y")
	s.awaitScreen("agent 2 has ended: r opens its session again", "nothing is selected")
	s.press("r")
	s.awaitScreen("1 session opened again, as agent 3", "▸○  3   checkout")

	panes := r.pane(first.ID)
	s.runTmux("run-shell", fmt.Sprintf("kill -9 %d", panes.Ref.ServerPID)) // the agents' tmux server
	s.awaitScreen("2 agents ended…", "R resume all 2")
	s.press("Home")
	s.awaitScreen("r resume all 2")
	s.press("r")
	s.awaitScreen("Open the sessions of 2 agents again?", "They died: agents 1, 3")
	s.press("y")
	s.awaitScreen("2 sessions opened again, as agents 4, 5", "2 idle")
	for id, before := range map[int64]int64{4: 1, 5: 3} {
		if a := r.awaitState(id, daemon.Idle); a.PreviousAgentID == nil || *a.PreviousAgentID != before {
			t.Errorf("agent %d goes on after %v, want %d", id, a.PreviousAgentID, before)
		}
	}
	s.press("q")
	r.await("top ends", func() (bool, string) {
		err := s.command("has-session").Run()
		return err != nil, "its session is there"
	})
}

// TestPopup: a key of the operator's own tmux opens top in a popup, in which they attach to an agent and leave it again. A key
// that does something else is left alone, and nothing is left bound in the end.
func TestPopup(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.startAgent(con)
	own := filepath.Join(filepath.Dir(r.root), "own.sock")
	main := cmdtest.MainProgram(t)
	s := &topPane{r, filepath.Join(filepath.Dir(r.root), "seat.sock")} // the terminal in which the operator's tmux runs
	mine := &topPane{r, own}
	s.runTmux("new-session", "-d", "-x", "80", "-y", "24", "env", "-u", "TMUX", "tmux", "-u", "-S", own, "-f", "/dev/null", "new-session", "sh")
	t.Cleanup(func() {
		_ = mine.command("kill-server").Run()
		_ = s.command("kill-server").Run()
	})
	s.runTmux("set-option", "-g", "prefix", "None")
	run := func(args ...string) {
		s.runTmux("send-keys", "-l", "clear; "+strings.Join(append([]string{main, "popup", "--data", r.root}, args...), " "))
		s.press("Enter")
	}
	run("--bind", "w")
	s.awaitScreen("w is bound in your tmux, to", "choose-tree", "--force")
	run("--bind", "u")
	s.awaitScreen("bind-key u display-popup -EE", "tmux.conf")
	s.press("C-b", "u")
	s.awaitScreen("│understudy  1 idle", "│▸○  1   developer-con-1", "? all keys")
	s.press("a")
	s.awaitScreen("Scripted agent", "│❯")
	s.press("C-b", "d")
	s.awaitScreen("│▸○  1   developer-con-1")
	s.press("q")
	s.awaitScreen("bind-key u display-popup")
	run()
	s.awaitScreen("│▸○  1   developer-con-1")
	s.press("q")
	r.await("the popup closes", func() (bool, string) {
		shown := s.runTmux("capture-pane", "-p")
		return !strings.Contains(shown, "│"), shown
	})
	run("--unbind")
	s.awaitScreen("Unbound: u.")
	if keys := mine.runTmux("list-keys", "-T", "prefix"); strings.Contains(keys, "popup") || !strings.Contains(keys, "choose-tree -Zw") {
		t.Errorf("keys are bound: %s", keys)
	}
	r.halt()
	run()
	s.awaitScreen("the daemon is not running") // the popup stays, so that this can be read
}

// topPane is `understudy top` in a pane of a tmux server of its own.
type topPane struct {
	*rig
	socket string
}

func startTop(r *rig, columns, lines int) *topPane { return startInPane(r, columns, lines, "top") }

// startInPane runs understudy with other arguments in such a pane. Only one can use the server at a time.
func startInPane(r *rig, columns, lines int, args ...string) *topPane {
	r.t.Helper()
	s := &topPane{r, filepath.Join(filepath.Dir(r.root), "seat.sock")}
	list := append([]string{"new-session", "-d", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(lines), cmdtest.MainProgram(r.t)}, args...)
	s.runTmux(append(list, "--data", r.root)...)
	r.t.Cleanup(func() { _ = s.command("kill-server").Run() }) // Normally the server has ended with the command.
	return s
}

func (s *topPane) command(args ...string) *exec.Cmd {
	c := exec.Command("tmux", append([]string{"-u", "-S", s.socket, "-f", "/dev/null"}, args...)...)
	c.Env = append(s.cfg.Environ, "TERM=xterm-256color")
	return c
}

func (s *topPane) runTmux(args ...string) string {
	s.t.Helper()
	out, err := s.command(args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %s: %v: %s", args, err, out)
	}
	return string(out)
}

func (s *topPane) press(keys ...string) {
	s.t.Helper()
	s.runTmux(append([]string{"send-keys"}, keys...)...)
}

// awaitScreen waits until the pane shows all of the texts.
func (s *topPane) awaitScreen(texts ...string) {
	s.t.Helper()
	s.awaitEvery(tickOfScreens, fmt.Sprintf("top shows %q", texts), func() (bool, string) {
		shown := s.runTmux("capture-pane", "-p")
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				return false, shown
			}
		}
		return true, ""
	})
}
