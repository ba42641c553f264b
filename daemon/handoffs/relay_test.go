package handoffs

import (
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/sight"
)

// testFlow makes the floors up to the Flow, for a test.
func testFlow(cfg engine.Config) *Flow {
	return New(agents.New(deliveries.New(sight.New(engine.New(cfg)))))
}
