package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// protected says why a process must not become an agent's; "": it may. Ending it would end the daemon or its servers, or it
// is not this user's.
func (d *Daemon) protected(ctx context.Context, proc tmux.Process) string {
	if why := d.Processes.Foreign(proc); why != "" {
		return why
	}
	servers := d.Servers()
	for _, pid := range servers {
		if d.Processes.Within(proc, pid) {
			return fmt.Sprintf(noAgent, proc.PID, "it belongs to a server of the daemon's")
		}
	}
	if server, err := d.Processes.ServerAt(ctx, d.Data.TmuxSocket()); err == nil {
		servers = append(servers, server.PID)
	}
	for _, pid := range append(servers, os.Getpid()) {
		if p, err := d.Processes.Find(pid); err == nil && d.Processes.Within(p, proc.PID) {
			return fmt.Sprintf(noAgent, proc.PID, "the daemon or a server of it runs in it")
		}
	}
	return ""
}

const (
	// paneLooks bounds the hooks that look for their pane at once, and paneTimeout each look: a signal may have stopped a
	// person's tmux server, and the agent waits for its hook.
	paneLooks   = 4
	paneTimeout = time.Second
)

// paneOf finds the pane that a hook of a session names which may register; nil: none. why says what is wrong with the pane
// that the hook names. The hook's environment may be stale or made up. So the process must run inside the named tmux
// server before the daemon speaks to that server, and inside the named pane.
func (d *Daemon) paneOf(ctx context.Context, env hooks.Envelope, proc tmux.Process) (pane *tmux.PaneInfo, why string) {
	socket, server, ok := tmux.FromEnv(env.Tmux)
	if !ok || env.Pane == "" || !d.Processes.Within(proc, server) {
		return nil, ""
	}
	term, err := d.Terminal(socket)
	if err != nil {
		return nil, err.Error()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, paneTimeout, errors.New("its tmux server did not answer in time"))
	defer cancel()
	select {
	case d.paneLooks <- struct{}{}:
		defer func() { <-d.paneLooks }()
	case <-ctx.Done():
		return nil, context.Cause(ctx).Error()
	}
	info, err := term.Inspect(ctx, tmux.Ref{Socket: socket, ServerPID: server, Pane: env.Pane})
	switch {
	case err != nil:
		return nil, err.Error()
	case !d.Processes.Within(proc, info.PID):
		return nil, ""
	}
	return &info, ""
}

// disbelieved tells the operator of a hook that would have registered an agent and was not believed. It does so once for
// each event: a sender of one such hook can send many.
func (d *Daemon) disbelieved(hook, why string) {
	if d.firstTime("disbelieved " + hook) {
		d.alert(event.HookDisbelieved, fmt.Sprintf("A %s hook was not believed (%s): no agent was registered by it; if it is of a session of yours, see docs/operating.md, \"Sessions that are not registered\", otherwise find out who sends it.",
			words.FirstLine(hook, 64), words.TrimDot(words.FirstLine(why, 200))))
	}
}

// agentOf returns the id of the active agent that a process is, or inside whose process it runs; 0: none.
func (d *Daemon) agentOf(ctx context.Context, proc tmux.Process) (int64, error) {
	active, err := d.roster.agents(ctx)
	if err != nil {
		return 0, err
	}
	for i := range active {
		if a := &active[i]; proc.PID != 0 && a.PID == proc.PID && a.PIDStart == proc.Start {
			return a.ID, nil
		}
	}
	return d.agentAround(ctx, proc)
}

// notFromAgent refuses what a process that is an agent, or runs inside one, must not do.
func (d *Daemon) notFromAgent(ctx context.Context, sender *tmux.Peer, code daemon.Code, what string) error {
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
