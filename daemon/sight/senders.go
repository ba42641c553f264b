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

// AgentOf returns the id of the active agent that a process is, or that has started it, directly or through others; 0: none. A process
// that has left its agent's, as by a double fork, is known by the launch secret in its environment.
func (d *Sight) AgentOf(ctx context.Context, proc tmux.Process) (int64, error) {
	active, err := d.Roster.Agents(ctx)
	if err != nil || proc.PID == 0 {
		return 0, err
	}
	for i := range active {
		if a := &active[i]; a.Process() == proc {
			return a.ID, nil
		}
	}
	if around, err := d.AgentAround(ctx, proc); err != nil || around != 0 {
		return around, err
	}
	environ, err := d.Accounts.Environ(proc)
	if err != nil { // It has ended, or its user is another one, whom the socket keeps out.
		return 0, nil
	}
	for _, v := range environ {
		if secret, ok := strings.CutPrefix(v, "UNDERSTUDY_LAUNCH="); ok {
			hash := daemon.LaunchHash(secret)
			for i := range active {
				if a := &active[i]; bytes.Equal(a.LaunchHash, hash) {
					return a.ID, nil
				}
			}
		}
	}
	return 0, nil
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
