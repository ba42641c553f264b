package cli

import (
	"encoding/json"
	"errors"
	"strings"
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

// TestJSONSteersNoTerminal: what a program reads is the same.
func TestJSONSteersNoTerminal(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	a := &App{Stdout: &b}
	wardentest.Must(t, errors.Join(a.PrintJSON("a\u009b\u202e"), a.PrintJSONLine(json.RawMessage("[\"\u200b\u2028<\"]"))))
	wardentest.Equal(t, "printed", b.String(), "\"a\\u009b\\u202e\"\n[\"\\u200b\\u2028<\"]\n")
}
