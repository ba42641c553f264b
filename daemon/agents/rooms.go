package agents

import (
	"context"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// InPane returns an active agent of this host that has a pane. It refuses others.
func InPane(ctx context.Context, d *Supervisor, id int64) (daemon.Agent, error) {
	a, err := d.Agent(ctx, id)
	switch {
	case err != nil:
		return a, err
	case !a.Active():
		return a, daemon.ErrAgentNotActive
	case !a.HasPane():
		return a, daemon.ErrAgentNoPane
	}
	return a, d.RequireThisHost(a.Host)
}

// NewResumed makes the agent that opens the session of an agent that has ended, and its event, for a change that is still to be committed.
// It refuses an agent whose session cannot be opened.
func NewResumed(ctx context.Context, d *Supervisor, old *daemon.Agent) (*daemon.Agent, *event.Event, error) {
	if err := d.Resumable(ctx, old); err != nil {
		return nil, nil, err
	}
	next, err := d.NewSuccessor(ctx, old, d.Now())
	if err != nil {
		return nil, nil, err
	}
	next.Resume = *old.SessionID
	return next, d.ResumedEvent(next), nil
}
