package engine

// testCourier makes the floors up to the Courier, for a test.
func testCourier(cfg Config) *Courier { return newCourier(newSight(newEngine(cfg))) }
