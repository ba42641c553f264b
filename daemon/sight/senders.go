package sight

import (
	"context"
	"fmt"
	"os"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/tmux"
)

// NotFromAgent refuses what a process that is an agent, or runs inside one, must not do.
func (d *Sight) NotFromAgent(ctx context.Context, sender *tmux.Peer, code daemon.Code, what string) error {
	if sender == nil {
		return nil
	}
	around, err := d.agentOf(ctx, sender.Process)
	if err != nil {
		return err
	}
	if around != 0 {
		return daemon.Errorf(daemon.KindForbidden, code, "Agent %d may not %s: the operator does that from outside of an agent", around, what)
	}
	return nil
}

// agentOf returns the id of the active agent that a process is, or inside whose process it runs; 0: none.
func (d *Sight) agentOf(ctx context.Context, proc tmux.Process) (int64, error) {
	active, err := d.Roster.Agents(ctx)
	if err != nil {
		return 0, err
	}
	for i := range active {
		if a := &active[i]; proc.PID != 0 && a.PID == proc.PID && a.PIDStart == proc.Start {
			return a.ID, nil
		}
	}
	return d.AgentAround(ctx, proc)
}

// AgentAround returns the id of the active agent inside whose process another process runs; 0: none. A "claude -p" that an
// agent starts does not become an agent.
func (d *Sight) AgentAround(ctx context.Context, proc tmux.Process) (int64, error) {
	active, err := d.Roster.Agents(ctx)
	if err != nil {
		return 0, err
	}
	for i := range active {
		a := &active[i]
		if a.PID != 0 && a.PID != proc.PID && d.Lives(a.Process()) && d.Processes.Within(proc, a.PID) &&
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
		if d.Processes.Within(proc, pid) {
			return fmt.Sprintf(engine.NoAgent, proc.PID, "it belongs to a server of the daemon's")
		}
	}
	if server, err := d.Processes.ServerAt(ctx, d.Data.TmuxSocket()); err == nil {
		servers = append(servers, server.PID)
	}
	for _, pid := range append(servers, os.Getpid()) {
		if p, err := d.Processes.Find(pid); err == nil && d.Processes.Within(p, proc.PID) {
			return fmt.Sprintf(engine.NoAgent, proc.PID, "the daemon or a server of it runs in it")
		}
	}
	return ""
}
