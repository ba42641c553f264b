package catalog

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
)

func TestGeneric(t *testing.T) {
	t.Parallel()
	rt, err := NewGeneric("aider", Generic{Command: []string{"aider"}, Ready: `^(code|ask)?> `, Exit: "/exit", Quiet: 3 * time.Second})
	must(t, err)
	if l, err := rt.Launch(runtimes.Spec{AgentID: 1, Command: []string{"aider", "--yes"}, Dir: "/d"}); err != nil || !slices.Equal(l.Argv, []string{"aider", "--yes"}) || l.SessionID != "" {
		t.Errorf("launch: %+v, %v", l, err)
	}
	if _, err := rt.Launch(runtimes.Spec{AgentID: 1}); err == nil || !strings.Contains(err.Error(), "runtimes.aider.command") {
		t.Errorf("without a command: %v", err)
	}
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
		if _, err := NewGeneric("aider", Generic{Ready: bad}); err == nil || !strings.Contains(err.Error(), "must be a regular expression") {
			t.Errorf("ready %q: %v", bad, err)
		}
	}
	for _, f := range rt.Facts() {
		if f.How == "–" {
			t.Errorf("nothing is said about %q", f.Topic)
		}
	}
}
