//go:build !race

package sim

// slower is by what factor the race detector slows down a seed; 1 without it.
const slower = 1
