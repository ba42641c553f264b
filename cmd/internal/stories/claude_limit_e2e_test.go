//go:build e2e

package stories

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// waitsForItsLimit: the subscription has hit its limit. Claude Code tells when that ends. It may not go on by itself, and asks what to do: the
// daemon closes that question, and nobody is told that the agent waits for a person, who goes on before.
func waitsForItsLimit(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	over := time.Now().Add(time.Hour)
	r.api.SetScript(claudetest.Limited(over))
	r.awaitVerdict(a.ID, r.sendMessage(a.ID, "Now mend the roof").ID, daemon.Submitted)
	if l := awaitDecided(r.rig, a.ID).Limit; l.Kind != daemon.LimitUsage || l.By != daemon.LimitByPolicy || l.Until == nil || l.Until.Sub(over).Abs() > time.Minute {
		t.Errorf("limit %+v, want one that ends at %s", l, over)
	}
	r.api.SetScript(obeys)
	r.personSubmits(a.ID, "go on")
	r.awaitAgent(a.ID, "a good turn", func(now daemon.Agent) bool { return now.State == daemon.Idle && now.Limit == nil })
	if waited := r.agentEvents(a.ID, string(event.AgentWaiting)); len(waited) > 0 {
		t.Errorf("events %v", waited)
	}
	return a.ID
}
