package stories

import (
	"context"
	"syscall"

	"github.com/understudyd/understudy/tmux"
)

// alive reports whether the process exists.
func alive(pid int) bool {
	_, err := tmux.FindProcess(pid)
	return err == nil
}

// killAgent kills the process in the agent's pane.
func killAgent(r *rig, agentID int64) {
	r.t.Helper()
	killProcess(r, r.pane(agentID).PID)
}

func killProcess(r *rig, pid int) {
	r.t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		r.t.Fatalf("process %d: %v", pid, err)
	}
}

// killTmux kills the rig's tmux server.
func killTmux(r *rig) {
	panes, err := r.tmux.List(context.Background())
	if err != nil || len(panes) == 0 {
		r.t.Errorf("tmux: %d panes, %v", len(panes), err)
		return
	}
	if err := syscall.Kill(panes[0].ServerPID, syscall.SIGKILL); err != nil {
		r.t.Errorf("tmux server %d: %v", panes[0].ServerPID, err)
	}
}
