package sim

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // a world is small and short-lived: with the default of 100 the tests take a fifth more CPU
	os.Exit(wardentest.Run(m.Run))
}

var equal = wardentest.Equal
