package top

import (
	"os"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestMain(m *testing.M) { os.Exit(wardentest.Run(m.Run)) }

// wantEqual says what differs.
func wantEqual[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

var equal = wardentest.Equal
