package stories

import (
	"os/exec"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/child/childtest"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
)

// TestMainProgramStartsLean: The commands that agents wait for run before the packages of the daemon initialize
// themselves. That would allocate eight times as much.
func TestMainProgramStartsLean(t *testing.T) {
	t.Parallel()
	childtest.WantLean(t, exec.Command(cmdtest.MainProgram(t), "hook"), 1_300)
}
