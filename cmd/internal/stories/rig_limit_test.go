package stories

import (
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
)

// Helpers for the stories of usage limits.

// fallback is a second account on the same CLI, which the stories hand over to.
const fallback = "claude-work"

// onLimit sets what daemons that start from now on do at a limit.
func onLimit(r *rig, do daemon.LimitAction, fallback ...string) *rig {
	r.cfg.Settings.Limits.OnLimit, r.cfg.Settings.Limits.Fallback = do, fallback
	for _, name := range fallback {
		r.cfg.Settings.Runtimes[name] = serve.RuntimeSettings{Command: r.cfg.Settings.Runtimes["claude"].Command}
	}
	return r
}

// hitLimit has an agent hit a limit in its next turn, and waits until something is decided about that.
func hitLimit(r *rig, agentID int64, behaviour string) daemon.Agent {
	r.t.Helper()
	r.misbehave(behaviour)
	r.awaitVerdict(agentID, r.sendMessage(agentID, "Find out why the tests are slow").ID, daemon.Submitted)
	a := awaitDecided(r, agentID)
	r.misbehave("")
	return a
}

// awaitDecided waits until something is decided about an agent's limit.
func awaitDecided(r *rig, agentID int64) daemon.Agent {
	r.t.Helper()
	return r.awaitAgent(agentID, "a decision about its limit", func(a daemon.Agent) bool {
		return a.State == daemon.Limited && a.Limit != nil && a.Limit.Do != daemon.LimitUndecided
	})
}

// goesOn lists the prompts after a limit that were queued for the agent, the oldest first.
func goesOn(r *rig, agentID int64) (list []daemon.Delivery) {
	r.t.Helper()
	for _, d := range r.deliveries(agentID) {
		if d.Kind == daemon.KindGoOn {
			list = append(list, d)
		}
	}
	return list
}

// awaitLimitHandoff waits until the handoff that was requested because of the agent's limit is completed.
func awaitLimitHandoff(r *rig, agentID int64) daemon.Handoff {
	r.t.Helper()
	a := r.awaitAgent(agentID, "a handoff because of its limit", func(a daemon.Agent) bool { return a.Limit != nil && a.Limit.HandoffID != nil })
	return r.awaitPhase(*a.Limit.HandoffID, daemon.Completed)
}
