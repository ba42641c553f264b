package daemon

import (
	"testing"
	"time"
)

// TestPlaceOfALivingPredecessor: nobody takes the pane of an agent that lives, whatever the rows of a handoff say.
func TestPlaceOfALivingPredecessor(t *testing.T) {
	t.Parallel()
	pane, ended := "%1", time.Now()
	for name, tt := range map[string]struct {
		handoff Handoff
		prev    Agent
		want    bool
	}{
		"it has ended":            {Handoff{InPlace: true}, Agent{Managed: true, Pane: &pane, EndedAt: &ended}, true},
		"it lives":                {Handoff{InPlace: true}, Agent{Managed: true, Pane: &pane}, false},
		"in a pane of its own":    {Handoff{}, Agent{Managed: true, Pane: &pane, EndedAt: &ended}, false},
		"a person has started it": {Handoff{InPlace: true}, Agent{Pane: &pane, EndedAt: &ended}, false},
		"it never had a pane":     {Handoff{InPlace: true}, Agent{Managed: true, EndedAt: &ended}, false},
	} {
		if got := tt.handoff.TakesPlaceOf(&tt.prev); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
