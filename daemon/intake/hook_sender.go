package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

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
	if !ok || env.Pane == "" || !d.Within(proc, server) {
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
	case !d.Within(proc, info.PID):
		return nil, ""
	}
	return &info, ""
}

// disbelieved tells the operator of a hook that would have registered an agent and was not believed. It does so once for
// each event: a sender of one such hook can send many.
func (d *Daemon) disbelieved(hook, why string) {
	if d.FirstTime("disbelieved " + hook) {
		d.Alert(event.HookDisbelieved, fmt.Sprintf("A %s hook was not believed (%s): no agent was registered by it; if it is of a session of yours, see docs/operating.md, \"Sessions that are not registered\", otherwise find out who sends it.",
			words.FirstLine(hook, 64), words.TrimDot(words.FirstLine(why, 200))))
	}
}
