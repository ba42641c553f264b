//go:build e2e

package stories

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/tmux"
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
	var typed time.Time
	r.awaitEvery(tickOfScreens, "a good turn", func() (bool, string) {
		now, shown := r.getAgent(a.ID), r.shown(a.ID)
		s := claude.Runtime.ReadScreen(runtimes.View{Text: shown})
		// The question may open only now, and take what is typed.
		if s.Composer && s.Dialog == "" && s.Draft == "" && now.State == daemon.Limited && time.Since(typed) > 15*time.Second {
			r.personTypes(a.ID, "go on", tmux.Enter)
			typed = time.Now()
		}
		return now.State == daemon.Idle && now.Limit == nil, shown
	})
	if waited := r.agentEvents(a.ID, string(event.AgentWaiting)); len(waited) > 0 {
		t.Errorf("events %v", waited)
	}
	return a.ID
}
