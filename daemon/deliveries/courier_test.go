package deliveries

import (
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/sight"
)

// testCourier makes the floors up to the Courier, for a test.
func testCourier(cfg engine.Config) *Courier { return New(sight.New(engine.New(cfg))) }
