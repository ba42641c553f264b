package cli

import (
	"testing"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestUICommandsNameTheDataDirectory(t *testing.T) {
	t.Parallel()
	const said = "open it with `understudy agent resume 7`, or `tmux -V`"
	wardentest.Equal(t, "without --data", (&App{Getenv: cmdtest.NoEnv}).WithData(said), said)
	want := "open it with `understudy agent resume 7 --data '/my data'`, or `tmux -V`"
	a := &App{Getenv: cmdtest.NoEnv, DataFlag: "/my data"}
	wardentest.Equal(t, "twice", a.WithData(a.WithData(said)), want)
}
