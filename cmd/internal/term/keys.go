package term

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// silence is the time that must follow an ESC byte without another byte, so that the byte counts as the Esc key. All
// other keys that begin with ESC send their bytes at once.
const silence = 100 * time.Millisecond

// OnEscape calls pressed each time a person types Esc, until ctx ends. It does nothing if stdin is no terminal. While it
// runs, the terminal passes on each key at once and does not show typed characters. Ctrl-C is still an interrupt, and
// output does not change. When OnEscape returns or panics, it restores the terminal's settings.
func OnEscape(ctx context.Context, stdin any, pressed func()) {
	f, ok := stdin.(*os.File)
	if !ok || !IsTerminal(f) {
		return
	}
	tty := int(f.Fd())
	before, err := unix.IoctlGetTermios(tty, getTermios)
	if err != nil {
		return
	}
	keys := *before
	keys.Lflag &^= unix.ICANON | unix.ECHO
	keys.Cc[unix.VMIN], keys.Cc[unix.VTIME] = 0, uint8(silence/(100*time.Millisecond)) // tenths of a second
	defer func() {
		if inForeground(tty) {
			_ = unix.IoctlSetTermios(tty, setTermios, before)
		}
	}()
	// Set the keys again when the command resumes: while it was suspended, the shell has changed the terminal's
	// settings.
	resumed := make(chan os.Signal, 1)
	signal.Notify(resumed, syscall.SIGCONT)
	defer signal.Stop(resumed)
	var seen escapes
	for set := false; ctx.Err() == nil; {
		select {
		case <-resumed:
			set = false
		default:
		}
		// Do not read in the background: the system would stop this process.
		if !inForeground(tty) {
			set = false
			rest(ctx)
			continue
		}
		if !set {
			set = unix.IoctlSetTermios(tty, setTermios, &keys) == nil
		}
		buf, begun := make([]byte, 64), time.Now()
		n, _ := unix.Read(tty, buf)
		if seen.take(buf[:max(n, 0)]) {
			pressed()
		}
		if n <= 0 && time.Since(begun) < silence/2 { // the terminal is gone: do not spin
			rest(ctx)
		}
	}
}

// rest waits for the time of silence, or until ctx ends.
func rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(silence):
	}
}

// inForeground reports whether this process is in the terminal's foreground group, which may use the terminal.
func inForeground(tty int) bool {
	group, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// escapes distinguishes the Esc key from the sequences that other keys send.
type escapes struct{ in sequence }

// sequence is the place of the last byte in a key's sequence.
type sequence int

const (
	nowhere sequence = iota
	afterESC
	inCSI // ESC [ and its parameters, until a byte that ends it
	inSS3 // ESC O, until one more byte
)

// take reports whether a person pressed Esc. typed holds the bytes that were read within the time of silence.
func (e *escapes) take(typed []byte) bool {
	if len(typed) == 0 {
		alone := e.in == afterESC
		e.in = nowhere
		return alone
	}
	for _, b := range typed {
		switch {
		case b == '\x1b': // if the byte before was ESC too, that one was the Alt of this key
			e.in = afterESC
		case e.in == afterESC && b == '[':
			e.in = inCSI
		case e.in == afterESC && b == 'O':
			e.in = inSS3
		case e.in == inCSI && (b < 0x40 || b > 0x7e):
		default:
			e.in = nowhere
		}
	}
	return false
}
