package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sandbox"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/personas"
	"github.com/understudyd/understudy/tmux"
)

// boxFile is the file of a launch that says what its agent has. The agent cannot change it.
const boxFile = "sandbox.json"

// inSandbox reports whether an agent is to run in a sandbox: somebody has asked for it, its predecessor did run in one, or its persona says so. It
// fails if the persona cannot be read. A pipeline's step goes on without a persona that is gone.
func inSandbox(d *Launcher, a *daemon.Agent) (bool, error) {
	if a.Sandbox || a.Persona == nil {
		return a.Sandbox, nil
	}
	p, err := d.Personas.Get(*a.Persona)
	switch {
	case errors.Is(err, personas.ErrNotFound):
		return false, nil
	case err == nil && p.Problem != "":
		err = errors.New(p.Problem)
	}
	if err != nil {
		return false, fmt.Errorf("persona %s: %w", *a.Persona, err)
	}
	return p.Sandbox, nil
}

// boxOf says what an agent in a sandbox has: its work tree and repository, its documents, what of its launch its CLI works with, the CLI and
// its settings, and what the operator's settings add.
func boxOf(d *Launcher, rt *runtimes.Runtime, a *daemon.Agent, spec *runtimes.Spec) (*sandbox.Box, error) {
	if rt.Places == nil {
		return nil, fmt.Errorf("it is not known which files %s works with, as a sandbox must: run it in a container", rt.Title)
	}
	if socket := filepath.Join(d.Data.AgentRoom(), filepath.Base(d.Data.HookSocket())); len(socket) > tmux.MaxSocketPath() {
		return nil, fmt.Errorf("its socket %s would have too long a path: choose a shorter data directory", socket)
	}
	environ, _ := rt.AccountEnviron(d.Environ, a.Account, nil)
	if filepath.Base(spec.Command[0]) == "env" { // the CLI with another account
		environ = append(environ, spec.Command[1:]...)
	}
	getenv := func(name string) string { return sight.Variable(environ, name) }
	home, more, launch := getenv("HOME"), d.Settings().Sandbox, d.Data.Launch(a.ID)
	if !filepath.IsAbs(home) {
		return nil, fmt.Errorf("the home folder %q is not absolute: set HOME for the daemon", home)
	}
	box := &sandbox.Box{Dir: a.Cwd, Home: home, Own: map[string]string{d.Data.Spool(): d.Data.AgentSpool(a.ID) + "/"}}
	work, git := worktree.Places(a.Cwd)
	if sandbox.Within(home, work[0]) { // the home is a repository
		work, git = []string{a.Cwd}, nil
	}
	changes, told := rt.Places(getenv)
	box.Write = slices.Concat(work, changes, spec.MayEdit, more.Write)
	own := []string{runtimes.Inbox(launch)} // of its launch, what its CLI changes
	if rt.OwnHome != nil {
		own = append(own, filepath.Join(launch, rt.Name))
	}
	for _, dir := range own {
		box.Own[dir] = dir + "/"
	}
	if rt.Registry != nil { // ids of processes mean something else outside
		box.Own[filepath.Dir(rt.Registry(runtimes.ConfigDir(getenv), 0))] = sight.RegistryInside(d.Data, a.ID) + "/"
	}
	programs := append([]string{d.Binary, d.Program}, spec.Command...) // the CLI, what runs it, its script
	box.Read = slices.Concat(git, told, spec.MayRead, sandbox.Programs(getenv("PATH"), []string{home, d.Data.Root()}, programs...), more.Read,
		runtimes.Below(home, ".gitconfig", ".config/git"), []string{launch, d.Data.AgentRoom()})
	if a.Persona != nil {
		box.Read = append(box.Read, d.Data.Persona(*a.Persona))
	}
	for name, kind := range rt.AccountKinds() { // files with which it proves who it is
		if info, err := os.Stat(getenv(name)); kind == runtimes.AccountPath && err == nil && info.Mode().IsRegular() {
			box.Read = append(box.Read, getenv(name))
		}
	}
	box.Resolve()
	return box, box.Refuse(home, d.Data.Root())
}

// had refuses to give an agent, or a one-shot for one, folders that an agent in a sandbox did not have: that one may have put links in their places.
func had(d *Launcher, agentID int64, dir string) error {
	box, err := BoxOf(d, agentID)
	if err != nil {
		return fmt.Errorf("it is not known what agent %d had: %w", agentID, err)
	}
	work, _ := worktree.Places(dir)
	for _, path := range append(work, dir) {
		if real := sandbox.Real(path); !box.MayChange(real) {
			return fmt.Errorf("%s leads to %s, which agent %d could not change", path, real, agentID)
		}
	}
	return nil
}

// oneShotFolders are what one-shots change of a launch.
var oneShotFolders = []string{"fork", "oneshot"}

// ClearOneShot removes what the last one-shot for an agent in a sandbox has left: it could be links, by which the files of the next one would
// go elsewhere. Call it before they are written.
func ClearOneShot(d *Launcher, a *daemon.Agent) error {
	var err error
	for _, name := range oneShotFolders {
		if a.Sandbox {
			err = errors.Join(err, os.RemoveAll(filepath.Join(d.Data.Launch(a.ID), name)))
		}
	}
	return err
}

// enter makes what an agent has of its own, and returns its command in the sandbox.
func enter(box *sandbox.Box, argv []string) ([]string, error) {
	for _, dir := range slices.Concat(slices.Collect(maps.Values(box.Own)), box.Write) {
		if !strings.HasSuffix(dir, "/") {
			continue // a file, or a folder that somebody else makes
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	box.Resolve() // with what was just made
	return box.Command(argv), nil
}

// noteBox notes what an agent has, for [BoxOf].
func noteBox(d *Launcher, box *sandbox.Box, agentID int64) error {
	b, err := json.Marshal(box)
	if err != nil {
		return err
	}
	return data.WriteFile(filepath.Join(d.Data.Launch(agentID), boxFile), b, 0o600)
}

// BoxOf reads what an agent in a sandbox has, as its launch has noted it.
func BoxOf(d *Launcher, agentID int64) (box sandbox.Box, err error) {
	b, err := os.ReadFile(filepath.Join(d.Data.Launch(agentID), boxFile))
	if err == nil {
		err = json.Unmarshal(b, &box)
	}
	return box, err
}

// OneShotInside puts a one-shot of a runtime that works for an agent into the agent's sandbox, if it has one.
func OneShotInside(d *Launcher, rt *runtimes.Runtime, a *daemon.Agent, job engine.OneShot) (engine.OneShot, error) {
	if !a.Sandbox {
		return job, nil
	}
	box, err := boxOf(d, rt, a, &runtimes.Spec{Command: d.Settings().Runtimes[rt.Name]})
	if err == nil {
		err = had(d, a.ID, a.Cwd)
	}
	if err != nil {
		return job, fmt.Errorf("sandbox: %w", err)
	}
	box.Dir = job.Dir
	for _, name := range oneShotFolders {
		dir := filepath.Join(d.Data.Launch(a.ID), name)
		box.Own[dir] = dir + "/"
	}
	job.Env = insideEnviron(d, rt, job.Env)
	job.Argv, err = enter(box, job.Argv)
	return job, err
}

// baseVariables are what every program may know of where it runs: its user, languages, terminal and network.
var baseVariables = []string{
	"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "COLORTERM", "TZ", "USER", "ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "all_proxy", "http_proxy",
	"https_proxy", "no_proxy", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE",
}

// insideEnviron returns what of an environment an agent in a sandbox gets: what every program may know, its CLI's own settings and account,
// what we tell it, and what the operator's settings name. The daemon's environment may have anybody's secrets.
func insideEnviron(d *Launcher, rt *runtimes.Runtime, environ []string) []string {
	account, more := rt.AccountKinds(), d.Settings().Sandbox.Env
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, own := account[name]
		return !own && !slices.Contains(baseVariables, name) && !slices.Contains(more, name) && !strings.HasPrefix(name, "LC_") &&
			!strings.HasPrefix(name, "UNDERSTUDY_") && !strings.HasPrefix(name, strings.ToUpper(rt.Name)+"_")
	})
}

// sandboxWorks refuses an agent that is to run in a sandbox if it cannot have one, or if this machine can make none.
func sandboxWorks(ctx context.Context, d *Launcher, next *daemon.Agent) error {
	if asked, err := inSandbox(d, next); err != nil || !asked {
		return nil //nolint:nilerr // whoever makes the command line says what is wrong with the persona
	}
	rt := d.RuntimeOf(next)
	if _, err := boxOf(d, rt, next, &runtimes.Spec{Command: d.Settings().Runtimes[rt.Name]}); err != nil {
		return daemon.Errorf(daemon.KindUnprocessable, daemon.CodeNoSandbox, "The agent cannot have a sandbox: %s", err)
	}
	res, err := d.OneShot(ctx, engine.OneShot{Argv: sandbox.Probe(), Dir: "/", Env: d.Environ})
	if err == nil && res.Exit == 0 {
		return nil
	}
	why := res.Stderr
	if err != nil {
		why = err.Error()
	}
	return daemon.Errorf(daemon.KindUnprocessable, daemon.CodeNoSandbox, "No sandbox can be made on this machine (%s): install bubblewrap (such as `apt install bubblewrap`), "+
		"see \"In a sandbox\" in docs/operating.md for systems that forbid it, or start the agent without", words.TrimDot(words.FirstLine(strings.TrimSpace(why), 200)))
}
