//go:build e2e

package stories

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// TestClaudeHandsOver: what may come before the end of a session of the real CLI, in the permission mode in which it asks for
// everything: a /clear, and more work from a person while it writes. TestRuntime has the plain handoffs.
func TestClaudeHandsOver(t *testing.T) {
	t.Parallel()
	relay(t, leg{"clear", handsOverCleared},
		leg{"queued, put into the turn", handsOverAfterMore("more, put into the turn", claudeWrites)},
		leg{"queued, a turn of its own", handsOverAfterMore("more, a turn of its own", claudeHasWritten)})
}

// handsOverCleared: a person's /clear begins another session in the pane. It is still the same agent.
func handsOverCleared(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	r.talk(a.ID, "hello")
	r.personTypes(a.ID, "/clear", tmux.Enter)
	now := r.awaitAgent(a.ID, "another session", func(now daemon.Agent) bool { return *now.SessionID != *a.SessionID })
	if now.EndedAt != nil || *now.TranscriptPath == *a.TranscriptPath || len(r.agentEvents(a.ID, "agent_session_changed")) != 1 {
		t.Errorf("agent %+v after /clear, it was %+v", now, a)
	}
	h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
	r.wantTakenOver(h)
	r.wantNoDialog(a.ID)
	return *h.SuccessorID
}

// installHooks puts our hooks into the person's settings.
func (r *claudeRig) installHooks() {
	r.t.Helper()
	path := filepath.Join(r.home.ConfigDir, "settings.json")
	before, err := hooks.ReadSettings(path)
	if err != nil {
		r.t.Fatal(err)
	}
	plan, err := hooks.PlanInstall(before, hooks.InstallOptions{Bin: r.cfg.HookBinary, DataDir: r.root, Events: hooks.KnownEvents(claudetest.Version)})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := hooks.Apply(plan.For(path, time.Now())); err != nil {
		r.t.Fatal(err)
	}
}

// startForeign runs a command as a person would, on a tmux server that is not ours.
func (r *claudeRig) startForeign(argv ...string) (socket string) {
	r.t.Helper()
	socket = filepath.Join(filepath.Dir(r.root), "person")
	run := func(args ...string) string {
		cmd := exec.Command("tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...)
		cmd.Env = r.cfg.Environ
		out, err := cmd.CombinedOutput()
		if err != nil {
			r.t.Errorf("tmux %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run(append([]string{"new-session", "-d", "-x", "120", "-y", "40", "-c", r.work, "--"}, argv...)...)
	run("new-window", "-d", "--", "tail", "-f", "/dev/null") // The server must outlive the agent, as a person's server does.
	pid, err := strconv.Atoi(run("display-message", "-p", "#{pid}"))
	if err != nil {
		r.t.Fatal(err)
	}
	server, err := tmux.FindProcess(pid)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		run("kill-server")
		r.await("the end of the person's tmux server", func() (bool, string) { return !server.Alive(), socket })
	})
	return socket
}
