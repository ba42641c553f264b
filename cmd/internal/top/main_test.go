package top

import (
	"os"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestMain(m *testing.M) { os.Exit(wardentest.Run(m.Run)) }

var must, holds = wardentest.Must, wardentest.Holds

func equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	wardentest.Equal(t, what, got, want)
}
