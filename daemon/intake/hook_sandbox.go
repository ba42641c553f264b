package intake

import (
	"context"
	"errors"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/sandbox"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

var errNotTheirs = daemon.Errorf(daemon.KindInvalid, daemon.CodeBadHook, "The hook was refused: it is not of the agent in whose sandbox it was kept")

// here finds the process that a hook names, and notes its id and, if it runs in the sandbox of an agent, that agent. In a sandbox processes have
// ids of their own, so that the sender tells which one is meant. A hook out of the spool has no sender any more: there its process is the
// agent's if both began at the same tick. If it has ended before its agent has registered, nothing speaks against it. proc is zero if the
// process is gone.
func (d *Daemon) here(ctx context.Context, env hooks.Envelope, from *tmux.Peer, c *claim) (proc tmux.Process, err error) {
	c.pid = env.AgentPID
	var at tmux.Process
	if from != nil {
		at = from.Process
	}
	proc, missed := d.Processes.Named(at, env.AgentPID, 0)
	if missed == nil {
		c.pid = proc.PID
	}
	if env.Launch == "" && env.Sandbox != 0 {
		return proc, errNotTheirs
	}
	if env.Launch == "" || env.Sandbox == 0 && (from == nil || proc.PID == env.AgentPID) {
		return proc, nil
	}
	a, err := d.AgentBySecret(ctx, env.Launch)
	told, known := errors.AsType[*daemon.Error](err)
	switch {
	case err != nil && !(known && told.Code == daemon.CodeUnknownLaunch):
		return proc, err
	case env.Sandbox != 0 && (err != nil || env.Sandbox != a.ID):
		return proc, errNotTheirs
	case err != nil || !a.Sandbox:
		if missed == nil { // what the agent has put into a sandbox or a container by itself is not the agent
			c.pid = 0
		}
		return tmux.Process{}, nil
	}
	c.boxed = &a
	if from == nil {
		proc, missed = d.Processes.Named(a.Process(), env.AgentPID, env.AgentStart)
	}
	switch {
	case missed == nil:
		c.pid = proc.PID
	case env.AgentStart == a.PIDStart, a.RegisteredAt == nil:
		c.pid, proc = a.PID, tmux.Process{}
	default:
		c.pid, proc = 0, tmux.Process{}
	}
	return proc, nil
}

// withinBox leaves out of a hook what would lead out of its agent's sandbox: the daemon reads the transcript, and the directory becomes the
// successor's.
func (d *Daemon) withinBox(a *daemon.Agent, p *hooks.Payload) error {
	box, err := agents.BoxOf(d.Launcher, a.ID)
	if err != nil {
		return err // it is read again when the hook comes out of the spool
	}
	if p.TranscriptPath != "" {
		if p.TranscriptPath = sandbox.Real(p.TranscriptPath); !box.Has(p.TranscriptPath) {
			p.TranscriptPath = ""
		}
	}
	if p.CWD != "" {
		if p.CWD = sandbox.Real(p.CWD); !box.MayChange(p.CWD) {
			p.CWD = ""
		}
	}
	return nil
}
