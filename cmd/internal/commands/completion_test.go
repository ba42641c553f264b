package commands

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
)

// TestCompletionIsThere: each command with an argument says how it is completed, and each flag that is no
// free text.
func TestCompletionIsThere(t *testing.T) {
	t.Parallel()
	known := []string{"agent", "persona", "state", "status", "mode", "types", "runtime", "template", "handoff", "pipeline"}
	seen := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if strings.ContainsAny(strings.TrimPrefix(c.Use, c.Name()), "ABCDEFGHIJKLMNOPQRSTUVWXYZ") && c.ValidArgsFunction == nil && c.Name() != "hook" && c.Name() != "help" && c.Use != "add ROLE NAME" {
			t.Errorf("%s completes no argument", c.CommandPath())
		}
		for _, name := range known {
			if f := c.LocalFlags().Lookup(name); f != nil && f.Value.Type() != "bool" {
				seen++
				if _, ok := c.GetFlagCompletionFunc(name); !ok {
					t.Errorf("%s --%s completes nothing", c.CommandPath(), name)
				}
			}
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(rootCommand(&cli.App{Getenv: cmdtest.NoEnv}))
	if seen < len(known) {
		t.Errorf("%d flags of %d", seen, len(known))
	}
}

func TestCompletionOfLists(t *testing.T) {
	t.Parallel()
	got, _ := listOf(func() []string { return []string{"a", "b", "ab"} })(nil, nil, "b,x,a")
	if want := []string{"b,x,a", "b,x,ab"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	words := ownNames([]daemon.Agent{{ID: 1, Name: "twice"}, {ID: 2, Name: "twice"}, {ID: 3, Name: "once", State: daemon.Idle}, {ID: 4, Name: "$(x)"}})
	if want := []string{"once\tagent 3, idle"}; !slices.Equal(words, want) {
		t.Errorf("names %q, want %q", words, want)
	}
}

// TestStartTakesTheFlagOfHandoff: whoever knows `handoff --permission-mode` writes that for a start, too.
func TestStartTakesTheFlagOfHandoff(t *testing.T) {
	t.Parallel()
	c := agentStart(&cli.App{Getenv: cmdtest.NoEnv})
	if err := c.ParseFlags([]string{"--permission-mode", "plan"}); err != nil || c.Flag("mode").Value.String() != "plan" {
		t.Errorf("%v, mode %s", err, c.Flag("mode").Value)
	}
}
