//go:build e2e

package stories

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/cmd/internal/demo"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/db"
	"github.com/understudyd/understudy/db/dbtest"
)

// TestScripts runs testdata/script/*.txt.
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/script/*.txt")
}

// TestDemoScripts runs testdata/script/demo/*.txt. Each demo makes a PostgreSQL of its own.
func TestDemoScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/script/demo/*.txt")
}

// runScripts runs scripts that use the program as a person does. Each script has a data directory of its own,
// $UNDERSTUDY_DATA. A script that starts a daemon also has a database.
func runScripts(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			top := value(os.MkdirTemp("", "us"))(t) // short: socket paths are limited to 107 bytes
			t.Cleanup(func() { os.RemoveAll(top) })
			dir := filepath.Join(top, "d")
			script := value(os.ReadFile(file))(t)
			database := ""
			if strings.Contains(string(script), "\nexec understudy serve") {
				database = dbtest.New(t, db.Migrate)
			}
			testscript.Run(t, testscript.Params{
				Files: []string{file}, RequireExplicitExec: true, RequireUniqueNames: true,
				Setup: func(env *testscript.Env) error {
					return setUp(env, cmdtest.MainProgram(t), cmdtest.AgentProgram(t), top, dir, database)
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){"ready": scriptReady, "until": scriptUntil},
			})
		})
	}
}

// setUp makes the world of a script: understudy in PATH, a home, and nothing of the user's own. The program agent in
// PATH is a scripted agent that can misbehave. $MISBEHAVING is an understudy whose demo has such agents.
func setUp(env *testscript.Env, own, agent, top, dir, database string) error {
	env.Defer(func() { // This runs before the folder in which the processes write is removed.
		if err := demo.EndAgents(context.Background(), filepath.Join(dir, "run", "tmux.sock")); err != nil {
			env.T().Log("agents not ended: ", err)
			env.T().FailNow()
		}
	})
	bin := filepath.Join(top, "bin")
	if err := os.Chmod(top, 0o711); err != nil { // When the tests run as root, PostgreSQL's account must get through.
		return err
	}
	for _, folder := range []string{bin, filepath.Join(env.WorkDir, "home")} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return err
		}
	}
	for name, program := range map[string]string{"understudy": own, "agent": agent} {
		if err := os.Symlink(program, filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	tests, err := os.Executable() // its TestMain is understudy, too
	if err != nil {
		return err
	}
	env.Setenv("MISBEHAVING", tests)
	env.Setenv("UNDERSTUDY", own)
	env.Setenv("PATH", bin+":"+env.Getenv("PATH"))
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(env.WorkDir, "claude"))
	env.Setenv("UNDERSTUDY_DATA", dir)
	env.Setenv("UNDERSTUDY_DATABASE_URL", database)
	env.Setenv("UNDERSTUDY_LISTEN", "none")
	env.Setenv("UNDERSTUDY_NOTIFY_DESKTOP", "false")
	env.Setenv("XDG_DATA_HOME", "")
	env.Setenv("TMUX", "")
	return nil
}

// scriptReady waits until the daemon of $UNDERSTUDY_DATA answers.
func scriptReady(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: ready")
	}
	c := api.NewClient(data.At(ts.Getenv("UNDERSTUDY_DATA")).Socket())
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), cmdtest.Eventually)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := c.Ready(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			ts.Fatalf("the daemon does not answer: %v", err)
		case <-tick.C:
		}
	}
}

// scriptUntil runs a command until it succeeds and its output matches the pattern.
func scriptUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN COMMAND [ARG...]")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	deadline := time.After(cmdtest.Eventually)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ts.Exec(args[1], args[2:]...)
		if err == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
		select {
		case <-deadline:
			ts.Fatalf("%q does not come: %v", args[0], err)
		case <-tick.C:
		}
	}
}
