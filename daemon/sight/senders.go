package sight

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/tmux"
)

// Inside reports whether a process is an active agent, or what an agent may have started, and which agent that is; 0: it is not known.
// What has left the agent's process, as by a double fork, still has the secret of its launch in its environment. What tmux has started for
// an agent runs in our own tmux server, in which nothing else should.
func (d *Sight) Inside(ctx context.Context, proc tmux.Process) (agent int64, inside bool, err error) {
	active, err := d.Roster.Agents(ctx)
	if err != nil || proc.PID == 0 {
		return 0, false, err
	}
	for i := range active {
		if a := &active[i]; a.Process() == proc {
			return a.ID, true, nil
		}
	}
	if around, err := d.AgentAround(ctx, proc); err != nil || around != 0 {
		return around, around != 0, err
	}
	if secret := d.launchOf(proc); secret != "" {
		hash := daemon.LaunchHash(secret)
		for i := range active {
			if a := &active[i]; bytes.Equal(a.LaunchHash, hash) {
				return a.ID, true, nil
			}
		}
	}
	line := d.Processes.Ancestry(proc)
	return 0, slices.ContainsFunc(active, func(a daemon.Agent) bool {
		return a.HasPane() && a.PaneSocket == d.Data.TmuxSocket() && slices.Contains(line, a.Ref().ServerPID)
	}), nil
}

// SpeaksFor reports whether a process is an agent's, or runs inside it. Who has the secret of a launch may have read it in an environment.
func (d *Sight) SpeaksFor(proc tmux.Process, a *daemon.Agent) bool {
	return a.PID == 0 || d.Lives(a.Process()) && slices.Contains(d.Processes.Ancestry(proc), a.PID)
}

// launchOf returns the launch secret in a process's environment; "": it has none, or it has ended.
func (d *Sight) launchOf(proc tmux.Process) string {
	environ, _ := d.Accounts.Environ(proc)
	for _, v := range environ {
		if secret, ok := strings.CutPrefix(v, "UNDERSTUDY_LAUNCH="); ok {
			return secret
		}
	}
	return ""
}

// AgentAround returns the id of the active agent inside whose process another process runs; 0: none. A "claude -p" that an
// agent starts does not become an agent.
func (d *Sight) AgentAround(ctx context.Context, proc tmux.Process) (int64, error) {
	active, err := d.Roster.Agents(ctx)
	if err != nil {
		return 0, err
	}
	line := d.Processes.Ancestry(proc)
	for i := range active {
		a := &active[i]
		if a.PID != 0 && a.PID != proc.PID && slices.Contains(line, a.PID) && d.Lives(a.Process()) &&
			(a.Managed || d.Protected(ctx, a.Process()) == "") { // all sessions may run inside a protected process
			return a.ID, nil
		}
	}
	return 0, nil
}

// Protected says why a process must not become an agent's; "": it may. Ending it would end the daemon or its servers, or it
// is not this user's.
func (d *Sight) Protected(ctx context.Context, proc tmux.Process) string {
	if why := d.Processes.Foreign(proc); why != "" {
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
