package engine

// testFlow makes the floors up to the Flow, for a test.
func testFlow(cfg Config) *Flow { return newFlow(newSupervisor(newCourier(newSight(newEngine(cfg))))) }
