package agents

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/daemon/runtimes/gemini"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestAccountIsSaidBeforeAHandoff: what a successor will not have of its predecessor's account is a warning of the handoff's row.
func TestAccountIsSaidBeforeAHandoff(t *testing.T) {
	t.Parallel()
	environ := []string{"CLAUDE_CONFIG_DIR=/work", "ANTHROPIC_AUTH_TOKEN=secret", "ANTHROPIC_MODEL=a\tb", "OPENCODE_CONFIG_CONTENT={}"}
	account, _ := catalog.ReadAccount(environ, "/")
	plain, _ := catalog.ReadAccount([]string{"HOME=/h"}, "/")
	both, _ := catalog.ReadAccount([]string{"CLAUDE_CONFIG_DIR=/work", "CODEX_HOME=/codex"}, "/")
	as := []string{""}
	for name, c := range map[string]struct {
		account *runtimes.Account
		managed bool
		lives   bool
		heirs   []string
		want    []string // a part of each warning
	}{
		"the daemon's own":           {nil, true, true, as, nil},
		"not known":                  {nil, false, true, as, []string{"could not be read"}},
		"no account of its own":      {&plain, false, true, []string{"claude", "codex"}, nil},
		"goes on but for one":        {&account, false, true, as, []string{"has no ANTHROPIC_MODEL"}},
		"its process has gone":       {&account, false, false, as, []string{"has no ANTHROPIC_MODEL", "has no ANTHROPIC_AUTH_TOKEN: nobody"}},
		"another CLI":                {&account, false, true, []string{"codex"}, []string{"on Codex: it has the account that the daemon has there"}},
		"another CLI that it has":    {&both, false, true, []string{"codex"}, []string{"on Codex: it has what the session was given for that CLI, by CODEX_HOME"}},
		"a variable that is ours":    {&account, false, true, []string{"opencode"}, []string{"runs on OpenCode", "has no OPENCODE_CONFIG_CONTENT"}},
		"two heirs, each said once":  {&both, false, true, []string{"claude", "codex", "codex"}, []string{"runs on Codex"}},
		"a runtime without any list": {&account, false, true, []string{"aider"}, []string{"runs on"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := testSupervisor(engine.Config{Host: "here", Data: data.At(t.TempDir())})
			d.Accounts.Environ = func(tmux.Process) ([]string, error) {
				if !c.lives {
					return nil, errors.New("gone")
				}
				return environ, nil
			}
			var heirs []daemon.HandoffHeir
			for _, runtime := range c.heirs {
				heirs = append(heirs, daemon.HandoffHeir{Heir: daemon.Heir{Runtime: runtime}})
			}
			said := d.Accounts.HandoffWarnings(d.Sight, &daemon.Agent{ID: 7, Host: "here", Runtime: "claude", AgentPane: daemon.AgentPane{PID: 3}, Managed: c.managed, Account: c.account}, heirs)
			if len(said) != len(c.want) {
				t.Fatalf("said %q, want %q", said, c.want)
			}
			for i, want := range c.want {
				if !strings.Contains(said[i], want) || strings.Contains(said[i], "secret") {
					t.Errorf("said %q, want %q in it", said[i], want)
				}
			}
			if said := d.Accounts.HandoffWarnings(d.Sight, &daemon.Agent{Host: "elsewhere", Account: c.account}, heirs); len(said) > 0 {
				t.Errorf("of another host's agent: %q", said)
			}
		})
	}
}

// TestSecretsOfAnAccountAreKeptForADay: the file outlives the process, is its owner's alone, holds no more than the row names, and is
// removed a day after the agent's end.
func TestSecretsOfAnAccountAreKeptForADay(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := testSupervisor(engine.Config{Data: data.At(root)})
	lives := true
	d.Accounts.Environ = func(tmux.Process) ([]string, error) {
		if !lives {
			return nil, errors.New("gone")
		}
		return []string{"ANTHROPIC_AUTH_TOKEN=secret", "OPENAI_API_KEY=not in the row"}, nil
	}
	a := &daemon.Agent{ID: 7, State: daemon.Idle, AgentPane: daemon.AgentPane{PID: 3}, RegisteredAt: new(time.Time), Account: &runtimes.Account{Secrets: []string{"ANTHROPIC_AUTH_TOKEN"}}}
	if !sight.HasSecrets(a) {
		t.Error("a person's session has secrets")
	}
	for range 2 {
		if _, _, err := sight.KeepAccount(d.Sight, t.Context(), a); err != nil {
			t.Fatal(err)
		}
		lives = false
	}
	path := filepath.Join(d.Data.Launch(7), sight.AccountFile)
	equal(t, "file", wardentest.Value(os.Stat(path))(t).Mode().Perm(), os.FileMode(0o600))
	equal(t, "folder", wardentest.Value(os.Stat(filepath.Dir(path)))(t).Mode().Perm(), os.FileMode(0o700))
	ended := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	a.EndedAt = &ended
	must(t, d.removeLaunchFiles(a))
	equal(t, "secrets", wardentest.Value(d.Accounts.Secrets(a))(t), []string{"ANTHROPIC_AUTH_TOKEN=secret"})
	for _, c := range []struct {
		after time.Duration
		there bool
	}{{sight.AccountKept - time.Second, true}, {sight.AccountKept, false}, {2 * sight.AccountKept, false}} {
		if err := d.Accounts.Forget(a, ended.Add(c.after)); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path); (err == nil) != c.there {
			t.Errorf("after %s: %v", c.after, err)
		}
	}
	equal(t, "secrets", len(wardentest.Value(d.Accounts.Secrets(a))(t)), 0)
}

// TestFilesOfASessionAreLookedForInItsOwnFolder: the registry of a session is in the folder of its account, and not in the daemon's.
func TestFilesOfASessionAreLookedForInItsOwnFolder(t *testing.T) {
	t.Parallel()
	d := testSupervisor(engine.Config{Environ: []string{"HOME=/home/dev", "CLAUDE_CONFIG_DIR=/daemon"}})
	own, none := runtimes.Account{Variables: map[string]string{"CLAUDE_CONFIG_DIR": "/work"}}, runtimes.Account{}
	for want, account := range map[string]*runtimes.Account{"/daemon": nil, "/work": &own, "/home/dev/.claude": &none} {
		equal(t, "folder", d.ConfigDir(&daemon.Agent{Account: account}), want)
	}
	gemini := gemini.Runtime.OwnHome
	for want, account := range map[string]*runtimes.Account{"/home/dev": &none, "/g": {Variables: map[string]string{"GEMINI_CLI_HOME": "/g"}}} {
		equal(t, "home", wardentest.Value(testSupervisor(engine.Config{Environ: []string{"HOME=/home/dev", "GEMINI_CLI_HOME=/daemon"}}).UserHome(gemini, account))(t).Path, want)
	}
}
