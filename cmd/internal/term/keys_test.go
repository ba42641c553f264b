package term

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

var must, equal = wardentest.Must, wardentest.Equal

// TestEscapes: what a key sends is one word here, - is a silence. Sequences may come in pieces.
func TestEscapes(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]int{
		"\x1b -":             1,
		"\x1b - \x1b -":      2,
		"x \x1b -":           1,
		"x\x1b -":            1,
		"\x1b[A -":           0, // an arrow
		"\x1b [A -":          0,
		"\x1b [ A -":         0,
		"\x1b[1;5C -":        0, // with Ctrl
		"\x1b[3~ \x1b -":     1, // Delete, then Esc
		"\x1bOP -":           0, // F1
		"\x1bO P -":          0,
		"\x1bx -":            0, // Alt-x
		"\x1b\x1b[A -":       0, // Alt with an arrow
		"\x1b\x1b -":         1,
		"\x1b[ - x -":        0, // cut off
		"\x1b[200~\x1b[0m -": 0,
		"- - hello -":        0,
		"\x1b x -":           0,
		"\x1b[<0;1;1M -":     0, // the mouse
	} {
		var e escapes
		got := 0
		for word := range strings.FieldsSeq(typed) {
			if word == "-" {
				word = ""
			}
			if e.take([]byte(word)) {
				got++
			}
		}
		equal(t, fmt.Sprintf("%q: times of Esc", typed), got, want)
	}
}

func TestOnEscapeNeedsATerminal(t *testing.T) {
	t.Parallel()
	OnEscape(t.Context(), strings.NewReader("\x1b"), func() { t.Error("pressed") })
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	defer w.Close()
	OnEscape(t.Context(), r, func() { t.Error("pressed") })
}

// TestOnEscapeInTheBackground: a terminal that is not the process's own is left as it is.
func TestOnEscapeInTheBackground(t *testing.T) {
	t.Parallel()
	keyboard, tty, err := pty.Open() // nobody's controlling terminal
	must(t, err)
	defer keyboard.Close()
	defer tty.Close()
	before := terminalMode(t, tty)
	ctx, cancel := context.WithTimeout(t.Context(), 3*silence)
	defer cancel()
	wardentest.Value(keyboard.Write([]byte("\x1b")))(t)
	begun := time.Now()
	OnEscape(ctx, tty, func() { t.Error("pressed") })
	if time.Since(begun) < 2*silence {
		t.Error("it did not wait for the end")
	}
	equal(t, "mode", terminalMode(t, tty), before)
}

func terminalMode(t testing.TB, tty *os.File) unix.Termios {
	t.Helper()
	mode := wardentest.Value(unix.IoctlGetTermios(int(tty.Fd()), getTermios))(t)
	return *mode
}
