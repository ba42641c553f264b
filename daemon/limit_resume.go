package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
)

// wakeLimited wakes the lanes of ended agents that wait for a reset. The machine may have been down, which ended them.
func (d *Daemon) wakeLimited(ctx context.Context) error {
	ended, err := d.Store.Agents(ctx, AgentFilter{Lately: true, Limit: 500})
	if err != nil {
		return fmt.Errorf("agents that have ended: %w", err)
	}
	for i := range ended {
		if a := &ended[i]; a.Host == d.Host && a.waitsAfterEnd() {
			d.Wake(a.ID)
		}
	}
	return nil
}

// waitsAfterEnd reports whether an agent died while it waited for a reset, so that its session is opened again after that. An
// agent that ended with its pane does not count: a person may have closed that. The agent of a step is the pipeline's to
// start again.
func (a *Agent) waitsAfterEnd() bool {
	l := a.Limit
	return l != nil && l.Do == LimitWait && l.Kind == LimitUsage && l.TriedAt == nil && l.DeliveryID == nil &&
		a.Died() && a.EndCode != EndedOther && a.SuccessorID == nil && a.StepID == nil && a.SessionID != nil && a.RegisteredAt != nil
}

// resumeAfterReset opens the session of an agent again that died while it waited for a reset, as a new agent of its line. The
// new agent's first prompt has it go on. The old agent's row is written with it, so that this happens once.
func (d *Daemon) resumeAfterReset(ctx context.Context, a *Agent) (bool, time.Duration, error) {
	if !a.waitsAfterEnd() {
		return false, 0, nil
	}
	if left := d.untilPrompt(a); left > 0 {
		return false, min(left, limitLook), nil
	}
	c, err := d.resumeChange(ctx, a)
	switch told := refusalIn(err); {
	case told != nil:
		l := *a.Limit
		l.Do, l.Why = LimitAsk, words.TrimDot(told.Message)
		a.Limit = &l
		c = &Change{Agents: []*Agent{a}}
	case err != nil:
		return false, 0, err
	}
	if err := d.commit(ctx, c); err != nil {
		return false, 0, fmt.Errorf("agent %d: resume after its limit: %w", a.ID, err)
	}
	return true, 0, nil
}

// resumeChange returns the change that opens an agent's session again after a limit.
func (d *Daemon) resumeChange(ctx context.Context, a *Agent) (*Change, error) {
	if err := d.resumable(ctx, a); err != nil {
		return nil, err
	}
	next, err := d.newSuccessor(ctx, a, d.now())
	if err != nil {
		return nil, err
	}
	dl, err := d.newMessage(ctx, next.ID, a.Limit.prompt(), false)
	if err != nil {
		return nil, err
	}
	next.Resume, next.FirstPromptID = *a.SessionID, &dl.ID
	l := *a.Limit
	l.DeliveryID, a.Limit = &dl.ID, &l
	return &Change{NewAgent: next, Agents: []*Agent{a}, NewDeliveries: []*Delivery{dl}, Events: []*event.Event{
		d.resumedEvent(next),
	}}, nil
}
