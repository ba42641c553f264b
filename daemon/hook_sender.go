package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// claim is what a hook says of the process that it comes from, checked against the system.
type claim struct {
	proc       tmux.Process // the process that the hook names; zero: that is gone, or the hook names none
	notFrom    string       // why the hook does not come from proc or a child of proc; "": nothing speaks against it
	notBinding string       // why the hook does not make proc an agent's process; "": it may
}

// claimOf checks what a hook says of its process. from is the process that sent the hook through a unix socket; nil: the hook
// came over TCP or, with replayed, from the spool.
func (d *Daemon) claimOf(ctx context.Context, env hooks.Envelope, from *tmux.Peer, replayed bool) (claim, error) {
	var c claim
	if from != nil && from.PID != 0 && !d.lives(from.Process) {
		// Nothing can be checked of a process that has ended. One that is ended while it waits for an answer spools its hook.
		return c, Errorf(KindUnavailable, CodeSenderGone, "The hook's process has ended")
	}
	proc, err := d.Processes.Find(env.AgentPID)
	if err == nil && (env.AgentStart == 0 || env.AgentStart == proc.Start && env.Boot == d.Processes.Boot()) {
		c.proc = proc
	}
	if from != nil {
		c.notFrom = d.Processes.Strange(from, c.proc)
	}
	switch {
	case c.proc.PID == 0:
		c.notBinding = "its process is gone or unnamed"
	case c.notFrom != "":
		c.notBinding = c.notFrom
	case from == nil && !replayed:
		c.notBinding = "it came over TCP, where nothing tells which process sent it"
	case replayed && env.AgentStart == 0:
		c.notBinding = "it comes out of the spool and does not tell when its process started"
	case mayRegister(env), env.Event == hooks.SessionStart: // other hooks make no process an agent's
		c.notBinding = d.protected(ctx, c.proc)
	}
	return c, nil
}

// foreign says why a hook does not come from this agent; "": it does. All that an agent starts inherits its environment and
// with it the launch secret, a "claude -p" for one; only the launch's own process speaks for the agent. A sender with the
// secret is believed about its process, unless the hook gives the agent its process. A person's agent has no secret, so
// that the sender must be the agent's process or run inside it.
func (h *hookStep) foreign() string {
	a := h.tx.Agent
	switch {
	case a.PID != 0 && h.in.PID == a.PID:
		if !a.Managed {
			return h.notFrom
		}
		return ""
	case a.PID == 0 && h.proc.PID == 0:
		return ""
	case h.in.PID == 0:
		return "it does not say which process it comes from"
	case a.PID == 0, a.RegisteredAt == nil && a.Managed && h.proc.PID != 0 && h.d.Processes.Within(h.proc, a.PID):
		return h.notBinding // the launched command may start the runtime as its child
	}
	return fmt.Sprintf("it comes from process %d, the agent is process %d", h.in.PID, a.PID)
}

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
