package daemon

import (
	"context"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
)

// Work is what a room has of the work of agents: what they are given, and who goes on with it. Its methods are safe for concurrent use.
type Work struct{ d *Daemon }

// Runtime returns an agent's runtime. If that is no longer configured, the runtime that it returns can do nothing.
func (w Work) Runtime(a *Agent) *runtimes.Runtime { return w.d.runtimeOf(a) }

// CheckRuntime refuses a runtime that agents cannot be started with here.
func (w Work) CheckRuntime(name string) error { return w.d.checkRuntime(name) }

// LimitPolicy returns what is done about an agent's limits: what its persona says, over the operator's settings.
func (w Work) LimitPolicy(a *Agent) LimitSettings { return w.d.factsFor(a).limitPolicy(a) }

// AutoFor returns the settings of automatic handoffs for an agent: those of its persona, over the operator's.
func (w Work) AutoFor(a *Agent) AutoSettings { return w.d.factsFor(a).autoFor(a) }

// Generations returns the newest generations of an agent's line, at most most, the oldest first.
func (w Work) Generations(ctx context.Context, a *Agent, most int) ([]Generation, error) {
	return w.d.Generations(ctx, a, most)
}

// OpenHandoff returns the open handoff of an agent.
func (w Work) OpenHandoff(ctx context.Context, agentID int64) (h Handoff, open bool, err error) {
	return w.d.openHandoff(ctx, agentID)
}

// RequestHandoff requests a handoff of an agent's work.
func (w Work) RequestHandoff(ctx context.Context, agentID int64, in HandoffRequest) (Handoff, error) {
	return w.d.RequestHandoff(ctx, agentID, in)
}

// NewMessage makes a text for an agent, for a change that is still to be committed.
func (w Work) NewMessage(ctx context.Context, agentID int64, text string) (*Delivery, error) {
	return w.d.newMessage(ctx, agentID, text, false)
}

// NewResumed makes the agent that opens the session of an agent that has ended, and its event, for a change that is still to be committed.
// It refuses an agent whose session cannot be opened.
func (w Work) NewResumed(ctx context.Context, old *Agent) (*Agent, *event.Event, error) {
	if err := w.d.resumable(ctx, old); err != nil {
		return nil, nil, err
	}
	next, err := w.d.newSuccessor(ctx, old, w.d.now())
	if err != nil {
		return nil, nil, err
	}
	next.Resume = *old.SessionID
	return next, w.d.resumedEvent(next), nil
}

// Handoff returns a handoff as people are shown it.
func (w Work) Handoff(ctx context.Context, id int64) (Handoff, error) { return w.d.Handoff(ctx, id) }
