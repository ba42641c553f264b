package agents

import (
	"log/slog"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
)

// TestStartHoldsThePromptOfTheCommandLine: while the screen says that hooks of the start run, the prompt of the command line is not typed
// again, for as long as such hooks may run.
func TestStartHoldsThePromptOfTheCommandLine(t *testing.T) {
	t.Parallel()
	now := time.Now()
	long := now.Add(-2 * deliveries.StartHooks)
	d := testSupervisor(engine.Config{Host: "h", Log: slog.New(slog.DiscardHandler)})
	d.RunBegan = long
	for name, c := range map[string]struct {
		registered *time.Time
		held, want bool
	}{
		"it says so": {&now, true, true}, "it does not": {&now, false, false}, "for too long": {&long, true, false}, "no session": {nil, true, false},
	} {
		equal(t, name, StartHolds(d, &daemon.Agent{Runtime: "claude", RegisteredAt: c.registered}, &sight.Screen{Screen: runtimes.Screen{Held: c.held}}), c.want)
	}
}
