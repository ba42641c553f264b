//go:build race

package sim

// slower is by what factor the race detector slows down a seed.
const slower = 12
