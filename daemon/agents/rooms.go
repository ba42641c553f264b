package agents

import (
	"context"
	"time"

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

// FirstPrompt looks at an agent that has told of no prompt yet. With wait, it may still take the one that it was started with: look again
// then. Otherwise holds reports whether a text stands in its composer; nil: the composer does not show.
func FirstPrompt(ctx context.Context, d *Supervisor, a *daemon.Agent) (holds func(text string) bool, wait time.Duration) {
	if wait := UntilForgotten(d, a); wait > 0 {
		return nil, wait
	}
	screen, _, _ := d.Composer(ctx, a)
	switch {
	case screen == nil:
		return nil, 0
	case StartHolds(d, a, screen):
		return nil, time.Second
	}
	return screen.Holds, 0
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
