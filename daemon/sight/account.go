package sight

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/tmux"
)

// A session that a person started may have another account than the daemon: a folder, an address, a token of its own. Its agent's
// row has what of that is no secret. The secrets are in a file of the agent's launch and nowhere else, because its process is gone
// when its successor starts. Values come from the process itself, never from what a hook says, so that no agent can make them up.

// AccountFile is the file of a launch with the secrets of the agent's account.
const AccountFile = "account.json"

// AccountKept is how long after an agent's end the secrets of its account are kept, so that a handoff can be retried and a session
// opened again.
const AccountKept = daemon.Recently

// accounts reads and keeps the accounts of agents.
type accounts struct {
	data    data.Dir
	Environ func(tmux.Process) ([]string, error) // of a process that lives
}

// OfProcess returns the account of a process that a person started in dir; nil: nobody can read it.
func (c accounts) OfProcess(proc tmux.Process, dir string) *runtimes.Account {
	environ, err := c.Environ(proc)
	if err != nil {
		return nil
	}
	account, _ := catalog.ReadAccount(environ, dir)
	return &account
}

func (c accounts) path(agentID int64) string {
	return filepath.Join(c.data.Launch(agentID), AccountFile)
}

// Secrets returns the secrets of an agent's account, as NAME=value: those in its file, else those of its process. Without both
// there are none.
func (c accounts) Secrets(a *daemon.Agent) ([]string, error) {
	if a.Account == nil || len(a.Account.Secrets) == 0 {
		return nil, nil
	}
	b, err := os.ReadFile(c.path(a.ID))
	switch {
	case err == nil:
		var list []string
		return list, json.Unmarshal(b, &list)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case a.PID == 0 || !a.Active():
		return nil, nil
	}
	environ, err := c.Environ(a.Process())
	if err != nil {
		return nil, nil //nolint:nilerr // the process has ended, or is not ours to read: the caller says what is missing
	}
	_, list := catalog.ReadAccount(environ, a.Cwd)
	return slices.DeleteFunc(list, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !slices.Contains(a.Account.Secrets, name)
	}), nil
}

// Keep writes the secrets of an agent's account into the file of its launch, if they are not there.
func (c accounts) Keep(agentID int64, secrets []string) error {
	if _, err := os.Stat(c.path(agentID)); len(secrets) == 0 || err == nil {
		return nil
	}
	b, err := json.Marshal(secrets)
	if err != nil {
		return err
	}
	return WriteFiles([]runtimes.File{{Path: c.path(agentID), Content: b}})
}

// Forget removes the secrets of an agent that ended long ago.
func (c accounts) Forget(a *daemon.Agent, now time.Time) error {
	if a.Active() || now.Sub(*a.EndedAt) < AccountKept {
		return nil
	}
	if err := os.Remove(c.path(a.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// LaunchEnviron returns the environment in which an agent is launched, the secrets in it, and the names of the secrets that nobody
// knows any more. An agent that takes over has the account of its predecessor.
func LaunchEnviron(ctx context.Context, d *Sight, a *daemon.Agent) (environ, secrets, lost []string, err error) {
	if secrets, err = d.Accounts.Secrets(a); err != nil {
		return nil, nil, nil, err
	}
	if len(secrets) == 0 && a.PreviousAgentID != nil && a.Account != nil {
		prev, err := d.Store.Agent(ctx, *a.PreviousAgentID)
		if err == nil {
			secrets, err = d.Accounts.Secrets(&prev)
		}
		if err != nil && !errors.Is(err, daemon.ErrNotFound) {
			return nil, nil, nil, err
		}
	}
	environ, lost = d.RuntimeOf(a).AccountEnviron(catalog.StripEnv(d.Environ), a.Account, secrets)
	return environ, secrets, lost, nil
}

// OneShotEnviron returns the environment of a one-shot on the runtime that works for an agent, as the agent's account.
func OneShotEnviron(d *Sight, rt *runtimes.Runtime, a *daemon.Agent) []string {
	secrets, err := d.Accounts.Secrets(a)
	if err != nil {
		d.Log.Warn("secrets of an account not read", "agent_id", a.ID, "error", err)
	}
	environ, _ := rt.AccountEnviron(catalog.StripEnv(d.Environ), a.Account, secrets)
	return environ
}

// warnings says what a successor of an agent does not have of its account. own is the agent's runtime, rt the successor's.
func (c accounts) warnings(rt, own *runtimes.Runtime, a *daemon.Agent) (said []string) {
	if a.Account == nil {
		if !a.Managed {
			said = append(said, fmt.Sprintf("The account of agent %d is not known, because the environment of its process could not be read: "+
				"the successor has the daemon's account.", a.ID))
		}
		return said // the daemon has started the line with its own account
	}
	if names := own.AccountNames(a.Account); rt.Name != own.Name && len(names) > 0 {
		has := "it has the account that the daemon has there"
		if there := rt.AccountNames(a.Account); len(there) > 0 {
			has = "it has what the session was given for that CLI, by " + strings.Join(there, ", ")
		}
		said = append(said, fmt.Sprintf("Agent %d has an account of its own for %s, by %s. That means nothing to the successor, which runs on %s: %s.",
			a.ID, own.Title, strings.Join(names, ", "), rt.Title, has))
	}
	if left := rt.AccountLeft(a.Account); len(left) > 0 {
		said = append(said, fmt.Sprintf("The successor of agent %d has no %s: the value is not clean, or the launch sets its own.", a.ID, strings.Join(left, ", ")))
	}
	secrets, err := c.Secrets(a)
	if _, lost := rt.AccountEnviron(nil, a.Account, secrets); err == nil && len(lost) > 0 {
		said = append(said, fmt.Sprintf("The successor of agent %d has no %s: nobody knows the value any more. Log in within the successor's pane, "+
			"or open the session with the variables set in a pane of your own.", a.ID, strings.Join(lost, ", ")))
	}
	return said
}

// HandoffWarnings says what the successors of an agent will not have of its account. Another host's agents are known to that host.
func (c accounts) HandoffWarnings(d *Sight, a *daemon.Agent, heirs []daemon.HandoffHeir) []string {
	said := []string{}
	if a.Host != d.Host {
		return said
	}
	own := d.RuntimeOf(a)
	for i := range heirs {
		for _, w := range c.warnings(d.RuntimeOf(&daemon.Agent{Runtime: cmp.Or(heirs[i].Runtime, a.Runtime)}), own, a) {
			if !slices.Contains(said, w) {
				said = append(said, w)
			}
		}
	}
	return said
}

// KeepAccount keeps the secrets of a session that a person started while its process lives.
func KeepAccount(d *Sight, _ context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	secrets, err := d.Accounts.Secrets(a)
	if err == nil {
		err = d.Accounts.Keep(a.ID, secrets)
	}
	if err != nil { // the handoff says what of it is missing
		d.Log.Warn("secrets of an account not kept; trying again", "agent_id", a.ID, "error", err)
	}
	return false, 0, nil
}

// HasSecrets reports whether a person's session has secrets that a successor needs.
func HasSecrets(a *daemon.Agent) bool {
	return a.Started() && !a.Managed && a.Account != nil && len(a.Account.Secrets) > 0
}

// errNoEnviron says that a process has no environment, or has ended.
var errNoEnviron = errors.New("the process has no environment, or has ended")

// processEnviron reads the environment with which a process was started. For an instant a program that is being started has none yet.
func processEnviron(pid int) ([]string, error) {
	for until := time.Now().Add(50 * time.Millisecond); ; time.Sleep(time.Millisecond) {
		b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		switch {
		case err != nil:
			return nil, err
		case len(b) > 0:
			return strings.Split(strings.TrimRight(string(b), "\x00"), "\x00"), nil
		case time.Now().After(until):
			return nil, errNoEnviron
		}
	}
}

// With returns an environment with further variables, of which each holds in place of one with its name.
func With(environ, further []string) []string {
	return append(slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.ContainsFunc(further, func(f string) bool { return strings.HasPrefix(f, name+"=") })
	}), further...)
}

// EnvironOf returns the environment of an agent's process, without the variables that another process must not get.
// If the process has ended or can't be read, it returns the environment with which the daemon would start the agent.
func (d *Sight) EnvironOf(a *daemon.Agent) []string {
	if a.PID != 0 {
		if environ, err := d.Accounts.Environ(a.Process()); err == nil {
			return catalog.StripEnv(environ)
		}
	}
	env := OneShotEnviron(d, d.RuntimeOf(a), a)
	if dir := d.ConfigDir(a); a.Account == nil && a.TranscriptPath != nil && dir != "" {
		env = append(env, "CLAUDE_CONFIG_DIR="+dir)
	}
	return env
}

// WriteFiles writes the files of a launch or a one-shot, and makes their folders: those of an ended agent are removed.
func WriteFiles(files []runtimes.File) error {
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
			return err
		}
		if err := data.WriteFile(f.Path, f.Content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
