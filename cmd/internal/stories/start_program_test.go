package stories

import (
	"os/exec"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/child/childtest"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
)

// TestMainProgramStartsLean: The commands that agents wait for run before the packages of the daemon initialize
// themselves. That would allocate four times as much. The tables of the runtimes come first all the same, because they need no network:
// 330 allocations.
func TestMainProgramStartsLean(t *testing.T) {
	t.Parallel()
	childtest.WantLean(t, exec.Command(cmdtest.MainProgram(t), "--version"), 2_700)
}
