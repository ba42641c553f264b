package agents

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// TestPlaceOfALivingPredecessor: nobody takes the pane of an agent that lives, whatever the rows of a handoff say.
func TestPlaceOfALivingPredecessor(t *testing.T) {
	t.Parallel()
	pane, ended := "%1", time.Now()
	for name, tt := range map[string]struct {
		handoff daemon.Handoff
		prev    daemon.Agent
		want    bool
	}{
		"it has ended":            {daemon.Handoff{InPlace: true}, daemon.Agent{Managed: true, AgentPane: daemon.AgentPane{Pane: &pane}, AgentEnd: daemon.AgentEnd{EndedAt: &ended}}, true},
		"it lives":                {daemon.Handoff{InPlace: true}, daemon.Agent{Managed: true, AgentPane: daemon.AgentPane{Pane: &pane}}, false},
		"in a pane of its own":    {daemon.Handoff{}, daemon.Agent{Managed: true, AgentPane: daemon.AgentPane{Pane: &pane}, AgentEnd: daemon.AgentEnd{EndedAt: &ended}}, false},
		"a person has started it": {daemon.Handoff{InPlace: true}, daemon.Agent{AgentPane: daemon.AgentPane{Pane: &pane}, AgentEnd: daemon.AgentEnd{EndedAt: &ended}}, false},
		"it never had a pane":     {daemon.Handoff{InPlace: true}, daemon.Agent{Managed: true, AgentEnd: daemon.AgentEnd{EndedAt: &ended}}, false},
	} {
		equal(t, name, takesPlaceOf(&tt.handoff, &tt.prev), tt.want)
	}
}
