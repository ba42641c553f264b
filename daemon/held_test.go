package daemon

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// TestLeftHeld: a session may hold a text that was typed to it while the hooks of its start run.
func TestLeftHeld(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, c := range map[string]struct {
		session Agent
		screen  runtimes.Screen
		want    bool
	}{
		"a new session":                          {Agent{}, runtimes.Screen{}, true},
		"it has taken a prompt":                  {Agent{TurnPromptID: "p"}, runtimes.Screen{}, false},
		"it was cleared, and its screen says so": {Agent{TurnPromptID: "p", LastStop: 3}, runtimes.Screen{Held: true}, true},
	} {
		h := hookedAgent(t)
		a := &c.session
		a.Runtime, a.RegisteredAt = "claude", &now
		dl := &Delivery{Kind: KindMessage, State: DeliveryTyped, TypedAt: &now, Attempts: 1, Way: runtimes.ByTyping}
		if left := leftHeld(h.daemon(), a, dl, &screen{Screen: c.screen}); left > 0 != c.want {
			t.Errorf("%s: held for %v", name, left)
		}
	}
}
