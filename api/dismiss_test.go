package api

import (
	"os"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// TestAgentsDoNotDismiss: an agent has no route for it, and a process of an agent is refused at the main socket.
func TestAgentsDoNotDismiss(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	reason := "process_gone"
	dead := h.agent(func(a *daemon.Agent) {
		now := time.Now()
		a.State, a.EndedAt, a.EndReason = daemon.Ended, &now, &reason
	})
	h.launched("mine", "s-1", func(a *daemon.Agent) { a.Host = "here" })
	for _, path := range []string{at("agents", dead.ID, "/dismiss"), "/api/agents/dismiss"} {
		h.hookDoor().with(launchHeader, "mine").do("POST", path, `{"ids": [1]}`).wants(t, "by an agent: "+path, 404, "not_found")
	}
	own := must(tmux.FindProcess(os.Getpid()))(t)
	h.launched("this process", "s-2", func(a *daemon.Agent) { a.Host, a.PID, a.PIDStart = "here", own.PID, own.Start })
	h.mainDoor().do("POST", at("agents", dead.ID, "/dismiss"), `{}`).wants(t, "from an agent's process", 403, "dismiss_by_agent")
	if now := must(h.store.Agent(ctx, dead.ID))(t); now.DismissedAt != nil {
		t.Error("it is dismissed all the same")
	}
}
