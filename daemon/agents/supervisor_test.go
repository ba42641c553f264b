package agents

import (
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/sight"
)

// testSupervisor makes the floors up to the Supervisor, for a test.
func testSupervisor(cfg engine.Config) *Supervisor {
	return New(deliveries.New(sight.New(engine.New(cfg))))
}
