package stories

import (
	"os/exec"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/child/childtest"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
)

// TestStartsLean: what is waited for runs before the packages of the daemon prepare themselves, which allocate four
// times as often.
func TestStartsLean(t *testing.T) {
	t.Parallel()
	childtest.WantLean(t, exec.Command(cmdtest.MainProgram(t), "--version"), 2_500)
}
