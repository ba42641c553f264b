package commands

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
)

var update = flag.Bool("update", false, "write testdata anew")

// TestHelp compares the help of every command with testdata/help. go test -update writes it anew.
func TestHelp(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if strings.HasPrefix(c.Name(), "__") || c.Name() == "help" { // the library's own
			return
		}
		path := strings.Fields(c.CommandPath())
		name := strings.Join(path, "-") + ".txt"
		seen[name] = true
		t.Run(strings.Join(path, " "), func(t *testing.T) { checkHelp(t, c, path, name) })
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(rootCommand(&cli.App{Getenv: cmdtest.NoEnv}))
	if files, _ := filepath.Glob("testdata/help/*"); len(files) != len(seen) {
		t.Errorf("%d files in testdata/help for %d commands", len(files), len(seen))
	}
}

func checkHelp(t *testing.T, c *cobra.Command, path []string, name string) {
	var stdout, stderr bytes.Buffer
	args := append([]string{"help"}, path[1:]...) // `hook --help` is not cobra's
	if code := Run(t.Context(), args, cmdtest.NoEnv, strings.NewReader(""), &stdout, &stderr); code != ExitDone || stderr.Len() > 0 {
		t.Fatalf("exit code %d, stderr %q", code, &stderr)
	}
	if c.Example == "" && !c.HasSubCommands() {
		t.Error("no example")
	}
	for line := range strings.Lines(c.Long + "\n" + c.Example) {
		if len([]rune(line)) > 101 {
			t.Errorf("line too long: %s", line)
		}
	}
	golden := filepath.Join("testdata", "help", name)
	if *update {
		must(t, os.MkdirAll(filepath.Dir(golden), 0o755))
		must(t, os.WriteFile(golden, stdout.Bytes(), 0o644))
	}
	want := value(os.ReadFile(golden))(t)
	if !bytes.Equal(stdout.Bytes(), want) {
		t.Errorf("help differs from %s; go test -update writes it anew:\n%s", golden, &stdout)
	}
}

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
	equal(t, "got", got, []string{"b,x,a", "b,x,ab"})
	words := ownNames([]daemon.Agent{{ID: 1, Name: "twice"}, {ID: 2, Name: "twice"}, {ID: 3, Name: "once", State: daemon.Idle}, {ID: 4, Name: "$(x)"}})
	equal(t, "names", words, []string{"once\tagent 3, idle"})
}

// TestStartTakesTheFlagOfHandoff: whoever knows `handoff --permission-mode` writes that for a start, too.
func TestStartTakesTheFlagOfHandoff(t *testing.T) {
	t.Parallel()
	c := agentStart(&cli.App{Getenv: cmdtest.NoEnv})
	if err := c.ParseFlags([]string{"--permission-mode", "plan"}); err != nil || c.Flag("mode").Value.String() != "plan" {
		t.Errorf("%v, mode %s", err, c.Flag("mode").Value)
	}
}

// TestWhatIsNotFoundNamesTheNextCommand: an error about something that there is not leads on.
func TestWhatIsNotFoundNamesTheNextCommand(t *testing.T) {
	t.Parallel()
	for _, code := range []daemon.Code{
		daemon.CodeAgentNotFound, daemon.CodeHandoffNotFound, daemon.CodePermissionNotFound, daemon.CodePipelineNotFound, api.CodePersonaNotFound,
	} {
		holds(t, string(code), hint(daemon.Errorf(daemon.KindNotFound, code, "Not found")), "`understudy ")
	}
}

// TestWrongUse: a command that is called in a wrong way says how to call it, does nothing, and ends with the code of that.
func TestWrongUse(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"audit --export pdf":            "--export must be md or json",
		"audit --output x":              "--output needs --export md or --export json",
		"audit --export md --limit 5":   "--export writes all matching events: leave out --limit, and use --since to get fewer",
		"audit --handoff 0":             "--handoff must be a number from 1",
		"audit --since soon --agent 12": "--since must be how long ago",
		"top":                           "understudy: top needs a terminal; elsewhere use `understudy agent list`: see `understudy top --help`\n",
	} {
		var stdout, stderr strings.Builder
		code := Run(t.Context(), strings.Fields(args), cmdtest.NoEnv, strings.NewReader(""), &stdout, &stderr)
		if code != ExitUsage || !strings.Contains(stderr.String(), want) || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d, %s", args, code, &stderr)
		}
	}
}
