package term

import "golang.org/x/sys/unix"

// How a terminal's settings are read and, at once, set.
const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)
