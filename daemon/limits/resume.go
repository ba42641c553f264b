package limits

import (
	"context"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
)

// wakeLimited wakes the lanes of ended agents that wait for a reset. The machine may have been down, which ended them.
func (r *Room) wakeLimited(ctx context.Context) error {
	ended, err := r.store.Agents(ctx, daemon.AgentFilter{Lately: true, Limit: 500})
	if err != nil {
		return fmt.Errorf("agents that have ended: %w", err)
	}
	for i := range ended {
		if a := &ended[i]; a.Host == r.env.Host && waitsAfterEnd(a) {
			r.env.Wake(a.ID)
		}
	}
	return nil
}

// waitsAfterEnd reports whether an agent died while it waited for a reset, so that its session is opened again after that. An
// agent that ended with its pane does not count: a person may have closed that. The agent of a step is the pipeline's to
// start again.
func waitsAfterEnd(a *daemon.Agent) bool {
	l := a.Limit
	return l != nil && l.Do == daemon.LimitWait && l.Kind == daemon.LimitUsage && l.TriedAt == nil && l.DeliveryID == nil &&
		a.Died() && a.EndCode != daemon.EndedOther && a.SuccessorID == nil && a.StepID == nil && a.SessionID != nil && a.RegisteredAt != nil
}

// resumeAfterReset opens the session of an agent again that died while it waited for a reset, as a new agent of its line. The
// new agent's first prompt has it go on. The old agent's row is written with it, so that this happens once.
func (r *Room) resumeAfterReset(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	if !waitsAfterEnd(a) {
		return false, 0, nil
	}
	if left := r.untilPrompt(a); left > 0 {
		return false, min(left, daemon.LimitLook), nil
	}
	c, err := r.resumeChange(ctx, a)
	switch told := daemon.RefusalIn(err); {
	case told != nil:
		l := *a.Limit
		l.Do, l.Why = daemon.LimitAsk, words.TrimDot(told.Message)
		a.Limit = &l
		c = &daemon.Change{Agents: []*daemon.Agent{a}}
	case err != nil:
		return false, 0, err
	}
	if err := r.env.Commit(ctx, c); err != nil {
		return false, 0, fmt.Errorf("agent %d: resume after its limit: %w", a.ID, err)
	}
	return true, 0, nil
}

// resumeChange returns the change that opens an agent's session again after a limit.
func (r *Room) resumeChange(ctx context.Context, a *daemon.Agent) (*daemon.Change, error) {
	next, resumed, err := agents.NewResumed(ctx, r.env.Supervisor, a)
	if err != nil {
		return nil, err
	}
	dl, err := r.env.NewMessage(ctx, next.ID, prompt(a.Limit), false)
	if err != nil {
		return nil, err
	}
	next.StartWith(dl)
	l := *a.Limit
	l.DeliveryID, a.Limit = &dl.ID, &l
	return &daemon.Change{NewAgent: next, Agents: []*daemon.Agent{a}, NewDeliveries: []*daemon.Delivery{dl}, Events: []*event.Event{resumed}}, nil
}
