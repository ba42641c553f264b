package stories

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/cmd/internal/commands"
	"github.com/understudyd/understudy/daemon"
)

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

// TestTopShowsAndActs: The operator sees who works and who waits, as it happens. They look at an agent, hand it off
// and approve a pipeline. They are told when the daemon is away.
func TestTopShowsAndActs(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	writeTemplate(r, "gate", "developer", "reviewer | approval: true")
	a := r.startAgent("developer-con-1")
	s := startTop(r, 110, 26)
	s.awaitScreen("understudy  1 idle", "▸○  1   developer-con-1  idle")

	s.press("a")
	s.awaitScreen("Scripted agent")
	s.press("C-b", "d")
	s.awaitScreen("understudy  1 idle")

	release := r.holdTurn(a.ID, "@say I have mended the login")
	s.awaitScreen("understudy  1 working", "▸●  1   developer-con-1  working")
	release()
	s.awaitScreen("understudy  1 finished", "▸◆  1   developer-con-1  finished", "said       I have mended the login")
	s.press("Enter")
	s.awaitScreen("its last answer began")
	s.press("Enter")
	s.awaitScreen("understudy  1 idle") // it was seen

	s.press("h")
	s.awaitScreen("Hand off agent 1 (developer-con-1)")
	s.press("full", "Tab", "the login", "Enter")
	s.awaitScreen("agent 1 has ended; agent 2 goes on with its work", "◆  2   developer-con-1  finished")
	h, err := r.client.LatestHandoff(t.Context(), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	if h = r.awaitPhase(h.ID, daemon.Completed); h.Reason != "full" || h.Focus != "the login" {
		t.Errorf("handoff with reason %q and focus %q", h.Reason, h.Focus)
	}

	p := startPipeline(r, "gate", "@report make it fast")
	s.awaitScreen("!  p1  a test", "approval of step 2 of 2, reviewer")
	s.press("Home", "y")
	s.awaitScreen("Approve pipeline 1 (a test)")
	s.press("with care", "Enter")
	if p = awaitPipeline(r, p.ID, daemon.PipelineDone); p.Steps[1].Comment != "with care" {
		t.Errorf("approved with %q", p.Steps[1].Comment)
	}
	s.awaitScreen("pipeline 1 does not need you any more")

	r.halt()
	s.awaitScreen("stale since ", "reconnecting", "the daemon is not running: start it with `understudy serve --data")
	r.start()
	s.awaitScreen("understudy  1 finished")
	s.press("q")
	r.await("top ends", func() (bool, string) {
		err := s.command("has-session").Run()
		return err != nil, "its session is there"
	})
}

func TestTopNeedsATerminal(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	code := commands.Run(t.Context(), []string{"top"}, os.Getenv, strings.NewReader(""), &stdout, &stderr)
	if want := "understudy: top needs a terminal; elsewhere use `understudy agent list`: see `understudy top --help`\n"; code != commands.ExitUsage || stderr.String() != want || stdout.Len() > 0 {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}
