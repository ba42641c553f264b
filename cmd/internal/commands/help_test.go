package commands

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
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
		if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, stdout.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(stdout.Bytes(), want) {
		t.Errorf("help differs from %s; go test -update writes it anew:\n%s", golden, &stdout)
	}
}
