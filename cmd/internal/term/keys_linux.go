package term

import "golang.org/x/sys/unix"

// The requests that read a terminal's settings and set them at once.
const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)
