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
		"it has ended":            {daemon.Handoff{InPlace: true}, daemon.Agent{Managed: true, Pane: &pane, EndedAt: &ended}, true},
		"it lives":                {daemon.Handoff{InPlace: true}, daemon.Agent{Managed: true, Pane: &pane}, false},
		"in a pane of its own":    {daemon.Handoff{}, daemon.Agent{Managed: true, Pane: &pane, EndedAt: &ended}, false},
		"a person has started it": {daemon.Handoff{InPlace: true}, daemon.Agent{Pane: &pane, EndedAt: &ended}, false},
		"it never had a pane":     {daemon.Handoff{InPlace: true}, daemon.Agent{Managed: true, EndedAt: &ended}, false},
	} {
		if got := TakesPlaceOf(&tt.handoff, &tt.prev); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
