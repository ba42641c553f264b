package term_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

var must = wardentest.Must

// TestKnown: a terminal that this machine has never heard of attaches as one that it knows.
func TestKnown(t *testing.T) {
	t.Parallel()
	own := t.TempDir()
	must(t, os.Mkdir(filepath.Join(own, "x"), 0o700))
	for _, name := range []string{"xterm-mine", "xterm-256color"} {
		must(t, os.WriteFile(filepath.Join(own, "x", name), nil, 0o600))
	}
	for is, want := range map[string]string{
		"TERM=xterm-mine": "TERM=xterm-mine", "TERM=xterm-ghostty-of-nobody": "TERM=xterm-256color", "TERM=../../etc/passwd": "TERM=xterm-256color",
		"TERM=": "TERM=xterm-256color", "TERM=dumb": "TERM=xterm-256color",
	} {
		if got := term.Known([]string{"A=b", is, "TERMINFO=" + own}); !slices.Contains(got, want) || !slices.Contains(got, "A=b") {
			t.Errorf("%s: got %v, want %s", is, got, want)
		}
	}
}
