//go:build race

package sim

// slower is how much longer a seed takes than without the race detector.
const slower = 8
