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

// claim is what a hook says of the process that it comes from, held against what the system says.
type claim struct {
	proc tmux.Process // the process that it names; zero when that is gone or unnamed
	// speak says why the hook does not come from that process or a child of it; "": as far as can be
	// told it does.
	speak string
	// bind says why the process does not become an agent's by this hook; "": it may.
	bind string
}

// claimOf checks what a hook says of its process. from is who connected to a unix socket to send it; nil:
// it came over TCP, or out of the spool.
func (d *Daemon) claimOf(ctx context.Context, env hooks.Envelope, from *tmux.Peer, replayed bool) (claim, error) {
	var c claim
	if from != nil && from.PID != 0 && !d.lives(from.Process) {
		// What it sent can't be checked any more. If it was ended while it waited, it spools the hook.
		return c, Errorf(KindUnavailable, CodeSenderGone, "The hook's process has ended")
	}
	proc, err := d.Processes.Find(env.AgentPID)
	if err == nil && (env.AgentStart == 0 || env.AgentStart == proc.Start && env.Boot == d.Processes.Boot()) {
		c.proc = proc
	}
	if from != nil {
		c.speak = d.Processes.Strange(from, c.proc)
	}
	switch {
	case c.proc.PID == 0:
		c.bind = "its process is gone or unnamed"
	case c.speak != "":
		c.bind = c.speak
	case from == nil && !replayed:
		c.bind = "it came over TCP, where nothing tells which process sent it"
	case replayed && env.AgentStart == 0:
		c.bind = "it comes out of the spool and does not tell when its process started"
	case mayRegister(env), env.Event == hooks.SessionStart: // the others bind nothing
		c.bind = d.protected(ctx, c.proc)
	}
	return c, nil
}

// foreign says why a hook is not this agent's, or "". The environment of an agent is inherited by whatever
// it starts, a "claude -p" among them; only the launch's own process speaks for it. Who has the launch's
// secret may be believed about that, unless it gives the agent a process. Of an agent that a person started
// there is nothing but the process, so that the sender must be it or run in it.
func (h *hookStep) foreign() string {
	a := h.tx.Agent
	switch {
	case a.PID != 0 && h.in.PID == a.PID:
		if !a.Managed {
			return h.speak
		}
		return ""
	case a.PID == 0 && h.proc.PID == 0:
		return ""
	case h.in.PID == 0:
		return "it does not say which process it comes from"
	case a.PID == 0, a.RegisteredAt == nil && a.Managed && h.proc.PID != 0 && h.d.Processes.Within(h.proc, a.PID):
		return h.bind // a command may start the runtime as its child
	}
	return fmt.Sprintf("it comes from process %d, the agent is process %d", h.in.PID, a.PID)
}

// protected says why a process is nobody's agent, or "": its end would be that of others.
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
	// paneLooks bounds the hooks that look for their pane at once, paneTimeout each look: a person's
	// server may be stopped, and the hook's agent waits.
	paneLooks   = 4
	paneTimeout = time.Second
)

// paneOf finds the pane that a hook names, for agents that register by themselves; nil: it has none. why
// says what was wrong with the one it names. What the environment says may be stale or made up: the process
// must run in the tmux server that is meant, and in that pane of it, and only then that server is spoken to.
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

// disbelieved tells the operator of a hook that would have made an agent of a process and was not believed.
// It is told once for each event: who can send one can send many.
func (d *Daemon) disbelieved(hook, why string) {
	if d.first("disbelieved " + hook) {
		d.warn(event.HookDisbelieved, fmt.Sprintf("A %s hook was not believed (%s): no agent was registered by it; if it is of a session of yours, see docs/operating.md, \"Sessions that are not registered\", else look who sends it.",
			words.FirstLine(hook, 64), words.TrimDot(words.FirstLine(why, 200))))
	}
}
