//go:build e2e

package stories

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// TestModelRunsTheHandoffCommand: The model runs the command as a skill. The skill's shell line asks the daemon with
// the agent's own secret, over the socket that agents get. The shell does not change the focus.
func TestModelRunsTheHandoffCommand(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	plan := installCommand(r)
	a := startSpokenTo(r)
	const focus = `the "parser"; $(touch ran) 'and' ` + "`touch ran`"
	_, block, _ := strings.Cut(string(plan.After), "```!\n")
	line, _, ok := strings.Cut(block, "\n```")
	if !ok || !strings.Contains(line, "$ARGUMENTS") {
		t.Fatalf("no shell line in\n%s", plan.After)
	}
	line = strings.ReplaceAll(line, "$ARGUMENTS", focus)
	ask := func(socket string) (string, error) {
		cmd := exec.Command("bash", "-c", line)
		cmd.Dir = r.work
		cmd.Env = append(cmd.Env, r.cfg.Environ...)
		for name, value := range launchEnv(r, a.ID) {
			if name == "UNDERSTUDY_SOCKET" && socket != "" {
				value = socket
			}
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if env := launchEnv(r, a.ID); env["UNDERSTUDY_SOCKET"] != r.dir.HookSocket() {
		t.Errorf("the agent was given socket %s, want %s", env["UNDERSTUDY_SOCKET"], r.dir.HookSocket())
	}
	out, err := ask("")
	// The id may be 2: a request that comes while a hook writes the agent's row is tried again, with another id.
	var id int64
	if _, bad := fmt.Sscanf(out, "handoff %d of agent 1 initiated", &id); err != nil || bad != nil {
		t.Fatalf("%v: %s", err, out)
	}
	h := r.awaitPhase(id, daemon.Completed)
	if h.Mode != daemon.ModeGenerate || h.Focus != focus {
		t.Errorf("mode %s, focus %q, want %q", h.Mode, h.Focus, focus)
	}
	if _, err := os.Stat(filepath.Join(r.work, "ran")); !os.IsNotExist(err) {
		t.Errorf("the focus was run: %v", err)
	}
}

// TestRefusedHandoffCommandSaysWhy: The pane shows why the handoff cannot start, and what to do.
func TestRefusedHandoffCommandSaysWhy(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		installCommand(r)
		fresh, bare := r.startAgent(con), r.startAgent("")
		r.personTypes(fresh.ID, "/handoff", tmux.Enter)
		r.awaitShown(fresh.ID, "No handoff was started: Nothing to hand off (no messages yet).")
		r.personTypes(bare.ID, "/handoff now", tmux.Enter)
		r.awaitShown(bare.ID, "No handoff was started: Agent has no persona: give it one with `understudy agent assign 2 PERSONA`")
		for _, a := range []daemon.Agent{fresh, bare} {
			wantComposer(r, a.ID, "")
			r.wantTold(a.ID)
			if list := handoffsOf(r, a.ID); len(list) != 0 {
				t.Errorf("handoffs %+v, want none", list)
			}
		}
	})
}

// TestHandoffCommandWaitsForTheTurn: During a turn the command waits for the turn's end, as Claude Code's own
// commands do. The document contains that turn's work.
func TestHandoffCommandWaitsForTheTurn(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		installCommand(r)
		a := startSpokenTo(r)
		release := r.holdTurn(a.ID, "long work")
		r.personTypes(a.ID, "/handoff", tmux.Enter)
		r.awaitShown(a.ID, "Queued: /handoff")
		if list := handoffsOf(r, a.ID); len(list) != 0 {
			t.Errorf("handoffs %+v in the turn", list)
		}
		release()
		r.await("the handoff", func() (bool, string) { return len(handoffsOf(r, a.ID)) == 1, r.shown(a.ID) })
		h := r.awaitPhase(1, daemon.Completed)
		if doc := r.readFile(h.FilePath); !strings.Contains(doc, "long work") {
			t.Errorf("document without the turn's work:\n%s", doc)
		}
		r.wantTold(a.ID, "Find out why", "long work")
	})
}

// TestHandoffCommandWithoutDaemonIsATurn: While the daemon is away, the prompt runs as a turn of its own. The spooled
// hook requests no handoff later.
func TestHandoffCommandWithoutDaemonIsATurn(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		installCommand(r)
		a := startSpokenTo(r)
		r.halt()
		r.personTypes(a.ID, "/handoff please", tmux.Enter)
		awaitSpooled(r, 2) // UserPromptSubmit, Stop
		r.start()
		awaitSpooled(r, 0)
		r.awaitState(a.ID, daemon.Idle)
		wantHandoffs(r, a.ID, 0)
		r.wantTold(a.ID, "Find out why", "/handoff please", "and now?")
		if n := len(hooksSetAside(r)); n != 0 {
			t.Errorf("%d hooks set aside", n)
		}
	})
}
