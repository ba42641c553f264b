package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestGeneric(t *testing.T) {
	t.Parallel()
	rt := value(NewGeneric("aider", Generic{Command: []string{"aider"}, Ready: `^(code|ask)?> `, Exit: "/exit", Quiet: 3 * time.Second}))(t)
	if l, err := rt.Launch(runtimes.Spec{AgentID: 1, Command: []string{"aider", "--yes"}, Dir: "/d"}); err != nil || !slices.Equal(l.Argv, []string{"aider", "--yes"}) || l.SessionID != "" {
		t.Errorf("launch: %+v, %v", l, err)
	}
	wardentest.Failed(rt.Launch(runtimes.Spec{AgentID: 1}))(t, "without a command", "runtimes.aider.command")
	for screen, want := range map[string]runtimes.Screen{
		"":                    {},
		"aider v1\n\n> \n":    {Composer: true, Row: ">"},
		"aider v1\n\n\n":      {},
		"aider v1\n\n> say\n": {Composer: true, Row: "> say"},
		"aider v1\ncode> x\n": {Composer: true, Row: "code> x"},
		"> quoted\n" + strings.Repeat("line\n", 8): {},
	} {
		equal(t, screen, rt.ReadScreen(runtimes.View{Text: screen}), want)
	}
	for _, bad := range []string{"", " ", "("} {
		wardentest.Failed(NewGeneric("aider", Generic{Ready: bad}))(t, fmt.Sprintf("ready %q", bad), "must be a regular expression")
	}
	for _, f := range rt.Facts() {
		if f.How == "–" {
			t.Errorf("nothing is said about %q", f.Topic)
		}
	}
}
