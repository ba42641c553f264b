package deliveries

import (
	"log/slog"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
)

// TestLeftHeld: a session may hold a text that was typed to it while the hooks of its start run.
func TestLeftHeld(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, c := range map[string]struct {
		session daemon.Agent
		screen  runtimes.Screen
		enters  int
		paste   pasted
		want    bool
	}{
		"a new session":                          {daemon.Agent{}, runtimes.Screen{}, 1, pasted{}, true},
		"a person has pressed Enter":             {daemon.Agent{}, runtimes.Screen{}, 0, pasted{}, true},
		"it never came to the composer":          {daemon.Agent{}, runtimes.Screen{}, 0, pasted{missing: true}, false},
		"a dialog came before the Enter":         {daemon.Agent{}, runtimes.Screen{}, 0, pasted{dialog: now}, false},
		"a dialog came after the Enter":          {daemon.Agent{}, runtimes.Screen{}, 1, pasted{dialog: now}, true},
		"it has taken a prompt":                  {daemon.Agent{AgentTurn: daemon.AgentTurn{TurnPromptID: "p"}}, runtimes.Screen{}, 1, pasted{}, false},
		"it was cleared, and its screen says so": {daemon.Agent{AgentTurn: daemon.AgentTurn{TurnPromptID: "p", LastStop: 3}}, runtimes.Screen{Held: true}, 1, pasted{}, true},
	} {
		a := &c.session
		a.Runtime, a.RegisteredAt = "claude", &now
		dl := &daemon.Delivery{Kind: daemon.KindMessage, State: daemon.DeliveryTyped, TypedAt: &now, Attempts: c.enters, Way: runtimes.ByTyping}
		d := testCourier(engine.Config{Host: "h", Log: slog.New(slog.DiscardHandler)})
		d.memories.Change(a.ID, func(m *courierMemory) { m.pasted = c.paste })
		equal(t, name+", its screen is not known: held", leftHeld(d, a, dl, nil) > 0, c.want && !c.screen.Held)
		equal(t, name+": held", leftHeld(d, a, dl, &sight.Screen{Screen: c.screen}) > 0, c.want)
	}
}
