package sim

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // worlds are small and soon gone: collected at each doubling they take a fifth more CPU
	os.Exit(wardentest.Run(m.Run))
}
