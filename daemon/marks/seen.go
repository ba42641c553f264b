package marks

import (
	"context"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
)

// SeeAgent notes that the operator has seen what an agent has finished. until is the FinishedAt that they were shown: a turn
// that was finished later stays unread. If nothing is unread, nothing is written.
func (d *Room) SeeAgent(ctx context.Context, id int64, until time.Time) (daemon.Agent, error) {
	return d.ChangeAgent(ctx, id, func(a *daemon.Agent, c *daemon.Change) error {
		if !a.UnreadUntil(until) {
			return engine.ErrUnchanged
		}
		a.See()
		c.Events = []*event.Event{d.Event(event.AgentSeen, &a.ID, nil, nil).For(a.PipelineID, a.StepID)}
		return nil
	})
}

// RenameAgent gives an active agent another name. Its successors have that name, too.
func (d *Room) RenameAgent(ctx context.Context, id int64, name string) (daemon.Agent, error) {
	if err := daemon.CheckLine("name", name, agents.MaxName); err != nil {
		return daemon.Agent{}, err
	}
	if err := agents.CheckName(name); err != nil {
		return daemon.Agent{}, err
	}
	return d.UpdateAgent(ctx, id, func(a *daemon.Agent, c *daemon.Change) error {
		if a.Name != name {
			c.Events = []*event.Event{d.Event(event.AgentRenamed, &a.ID, nil, map[string]any{"name": name, "was": a.Name}).For(a.PipelineID, a.StepID)}
			a.Name = name
		}
		return nil
	})
}

// NotifyWhenFinished sets whether the operator is notified when an agent has finished a turn: "on", "off", or "" for what its
// persona says.
func (d *Room) NotifyWhenFinished(ctx context.Context, id int64, says string) (daemon.Agent, error) {
	if says != "" && says != "on" && says != "off" {
		return daemon.Agent{}, daemon.Errorf(daemon.KindInvalid, daemon.CodeBadNotify, "notify_finished must be \"on\", \"off\", or \"\" for what the agent's persona says")
	}
	return d.UpdateAgent(ctx, id, func(a *daemon.Agent, _ *daemon.Change) error {
		a.NotifyFinished = says
		return nil
	})
}
