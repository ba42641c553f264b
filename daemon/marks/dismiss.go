package marks

import (
	"context"
	"slices"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
)

// DismissAgent notes that the operator has seen that an agent died: nobody is needed for it any more. Its row, its session and its
// directory stay as they are, so it can still be resumed. Of an agent that did not die, and at the second call, nothing is written.
// from says where the call comes from, for the log.
func (d *Room) DismissAgent(ctx context.Context, id int64, from string) (daemon.Agent, error) {
	return d.ChangeAgent(ctx, id, func(a *daemon.Agent, c *daemon.Change) error {
		switch {
		case a.Active():
			return daemon.Errorf(daemon.KindConflict, daemon.CodeAgentActive, "Agent %d is still active: end it with `understudy agent stop %[1]d`", a.ID)
		case !a.LeavesWork():
			return engine.ErrUnchanged
		}
		now := d.Now()
		a.DismissedAt = &now
		c.Events = []*event.Event{d.Event(event.AgentDismissed, &a.ID, nil, map[string]any{"agent_name": a.Name, "from": from})}
		return nil
	})
}

// DismissAgents does that for several agents, in the order of their ids. An agent that cannot be dismissed ends it; after that it
// may be called again.
func (d *Room) DismissAgents(ctx context.Context, ids []int64, from string) ([]daemon.Agent, error) {
	out := []daemon.Agent{}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		a, err := d.DismissAgent(ctx, id, from)
		if err != nil {
			return out, err
		}
		out = append(out, a)
	}
	return out, nil
}
