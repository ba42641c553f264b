package agents

import (
	"os/exec"
	"syscall"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestASignalNeedsTheLaunch: somebody has written the id of another process into the row of an agent. What the row names gets no signal.
func TestASignalNeedsTheLaunch(t *testing.T) {
	t.Parallel()
	for name, environ := range map[string][]string{"ours": {"UNDERSTUDY_LAUNCH=mine"}, "another agent's": {"UNDERSTUDY_LAUNCH=other"}, "nobody's": {"A=b"}, "one without": {}} {
		cmd := exec.Command("sleep", "100")
		cmd.Env = environ
		must(t, cmd.Start())
		proc := wardentest.Value(tmux.FindProcess(cmd.Process.Pid))(t)
		a := &daemon.Agent{Managed: true, Runtime: "claude", LaunchHash: daemon.LaunchHash("mine")}
		a.PID, a.PIDStart = proc.PID, proc.Start
		err := testSupervisor(engine.Config{}).signalAgent(t.Context(), a, syscall.SIGTERM)
		equal(t, name+" gets it", err == nil, name == "ours")
		if name != "ours" {
			equal(t, name+" lives", proc.Alive(), true)
			must(t, cmd.Process.Kill())
		}
		_ = cmd.Wait() // a signal has ended it
	}
}
