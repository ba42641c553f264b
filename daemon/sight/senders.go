package sight

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/data/trust"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// Inside reports whether one of these processes is an active agent, or is what an agent may have started, and the agent in whose process it
// runs; 0: that is not known. What has left its agent's process, as by a double fork, is still in the control group of the agents, and has the
// secret of the launch in its environment, also when the agent has ended. What tmux has started for an agent runs in our own tmux server, in which nothing else
// should. While the database is away, the agents count that are remembered.
func (d *Sight) Inside(ctx context.Context, procs ...tmux.Process) (agent int64, inside bool) {
	active, err := d.Roster.Agents(ctx)
	if err != nil {
		active = d.Roster.Known()
	}
	server, _ := d.Processes.ServerAt(ctx, d.Data.TmuxSocket()) // without a server it is no process
	for _, proc := range procs {
		line := d.Processes.Ancestry(proc)
		for i := range active {
			if a := &active[i]; proc.PID != 0 && a.Process() == proc {
				return a.ID, true
			}
		}
		if around := d.around(ctx, active, proc, line); around != 0 {
			return around, true
		}
		if server.PID != 0 && slices.Contains(line, server.PID) || proc.PID != 0 && (hooks.InAgentsGroup(proc.PID) || d.hasSecret(ctx, proc)) {
			return 0, true
		}
	}
	return 0, false
}

// hasSecret reports whether the environment of a process has the launch secret of an agent, or one that cannot be looked up.
func (d *Sight) hasSecret(ctx context.Context, proc tmux.Process) bool {
	environ, _ := d.Accounts.Environ(proc) // It has ended, or its user is another one, whom the socket keeps out.
	secret := daemon.LaunchSecret(environ)
	if secret == "" {
		return false
	}
	_, err := d.Store.AgentByLaunch(ctx, daemon.LaunchHash(secret))
	return !errors.Is(err, daemon.ErrNotFound)
}

// NotOfLaunch says why the process in the row of an agent that we have launched cannot be the agent's; "": it can, or this system does not tell.
// A row may be wrong, or written by somebody else, and what it names is about to get a signal. The process has the secret of the launch from us;
// a session that its runtime has moved into the background has a process of the runtime's supervisor, and the runtime's registry names that.
func NotOfLaunch(d *Sight, a *daemon.Agent) string {
	environ, err := d.Accounts.Environ(a.Process())
	if secret := daemon.LaunchSecret(environ); err != nil && !errors.Is(err, errNoEnviron) || secret != "" && bytes.Equal(daemon.LaunchHash(secret), a.LaunchHash) {
		return ""
	}
	dir := d.ConfigDir(a)
	if _, ok := d.entryAt(dir, a.PID); ok && trust.Check(runtimes.RegistryPath(dir, a.PID)) == nil {
		return ""
	}
	return fmt.Sprintf(engine.NoAgent, a.PID, "it does not have the secret of this agent's launch; if it is the agent all the same, end it yourself")
}

// SpeaksFor reports whether a process is an agent's, or runs inside it. Who has the secret of a launch may have read it in an environment.
func (d *Sight) SpeaksFor(proc tmux.Process, a *daemon.Agent) bool {
	return a.PID == 0 || d.Lives(a.Process()) && slices.Contains(d.Processes.Ancestry(proc), a.PID)
}

// AgentAround returns the id of the active agent inside whose process another process runs; 0: none. A "claude -p" that an
// agent starts does not become an agent.
func (d *Sight) AgentAround(ctx context.Context, proc tmux.Process) (int64, error) {
	active, err := d.Roster.Agents(ctx)
	if err != nil {
		return 0, err
	}
	return d.around(ctx, active, proc, d.Processes.Ancestry(proc)), nil
}

// Holder returns the id of the agent that a process is, or inside of which it runs, among those that are remembered; 0: none. line is the
// process's ancestry. Holder does not ask the database.
func Holder(ctx context.Context, d *Sight, proc tmux.Process, line []int) int64 {
	known := d.Roster.Known()
	for i := range known {
		if known[i].PID != 0 && known[i].Process() == proc {
			return known[i].ID
		}
	}
	return d.around(ctx, known, proc, line)
}

// around is [Sight.AgentAround] among these agents. line is the process's ancestry.
func (d *Sight) around(ctx context.Context, active []daemon.Agent, proc tmux.Process, line []int) int64 {
	for i := range active {
		a := &active[i]
		if a.PID != 0 && a.PID != proc.PID && slices.Contains(line, a.PID) && d.Lives(a.Process()) &&
			(a.Managed || d.Protected(ctx, a.Process(), false) == "") { // all sessions may run inside a protected process
			return a.ID
		}
	}
	return 0
}

// Protected says why a process must not become an agent's; "": it may. Ending it would end the daemon or its servers, or it
// is not this user's. One that we have launched may run in a sandbox.
func (d *Sight) Protected(ctx context.Context, proc tmux.Process, launched bool) string {
	if why := d.Processes.Foreign(proc, launched); why != "" {
		return why
	}
	servers := d.Servers()
	for _, pid := range servers {
		if d.Within(proc, pid) {
			return fmt.Sprintf(engine.NoAgent, proc.PID, "it belongs to a server of the daemon's")
		}
	}
	if server, err := d.Processes.ServerAt(ctx, d.Data.TmuxSocket()); err == nil {
		servers = append(servers, server.PID)
	}
	for _, pid := range append(servers, os.Getpid()) {
		if p, err := d.Processes.Find(pid); err == nil && d.Within(p, proc.PID) {
			return fmt.Sprintf(engine.NoAgent, proc.PID, "the daemon or a server of it runs in it")
		}
	}
	return ""
}
