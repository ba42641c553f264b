package engine

// testSupervisor makes the floors up to the Supervisor, for a test.
func testSupervisor(cfg Config) *Supervisor {
	return newSupervisor(newCourier(newSight(newEngine(cfg))))
}
