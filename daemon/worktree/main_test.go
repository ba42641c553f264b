package worktree

import (
	"os"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestMain(m *testing.M) { os.Exit(wardentest.Run(m.Run)) }

var must, equal = wardentest.Must, wardentest.Equal
