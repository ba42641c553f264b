package cli

import (
	"testing"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
)

func TestUICommandsNameTheDataDirectory(t *testing.T) {
	t.Parallel()
	const said = "open it with `understudy agent resume 7`, or `tmux -V`"
	if got := (&App{Getenv: cmdtest.NoEnv}).WithData(said); got != said {
		t.Errorf("without --data: %s", got)
	}
	want := "open it with `understudy agent resume 7 --data '/my data'`, or `tmux -V`"
	a := &App{Getenv: cmdtest.NoEnv, DataFlag: "/my data"}
	if got := a.WithData(a.WithData(said)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
