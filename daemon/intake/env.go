package intake

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/tmux"
)

// Env is what a room has of the daemon that it has joined: see [Join]. Its methods are safe for concurrent use.
type Env struct{ d *Daemon }

// Now returns the time of day, for rows. Its clock may be set, forwards and back.
func (e Env) Now() time.Time { return e.d.Now() }

// Spent returns how much of the time since the given time of a row counts against a deadline: time in which no daemon ran does not.
func (e Env) Spent(since time.Time) time.Duration { return e.d.TimeSpent(since) }

// Left returns how much of a limit is left for something that began at the given time of a row: see Spent. After a start of the daemon
// something is always left, because no daemon could act before.
func (e Env) Left(since time.Time, limit time.Duration) time.Duration {
	return e.d.TimeLeft(since, limit)
}

// Began returns when the daemon began to run.
func (e Env) Began() time.Time {
	return e.d.Began()
}

// Settings returns the operator's settings. Nobody changes them: a reload puts others in their place.
func (e Env) Settings() *engine.Settings { return e.d.Settings() }

// Log returns the log of the process.
func (e Env) Log() *slog.Logger { return e.d.Log }

// Host returns the name of the daemon's host.
func (e Env) Host() string { return e.d.Host }

// Publish has subscribers see what has changed in the event log.
func (e Env) Publish() { e.d.Hub.Poke() }

// Logged says that the event log has grown.
func (e Env) Logged() { e.d.EventsChanged() }

// NewID returns an id that nobody can guess.
func (e Env) NewID() (string, error) {
	b := make([]byte, 9)
	if _, err := e.d.Random.Read(b); err != nil {
		return "", fmt.Errorf("random id: %w", err)
	}
	return fmt.Sprintf("%x", b), nil
}

// Wake has the lane of an agent look at its rows. It never blocks.
func (e Env) Wake(agentID int64) { e.d.Wake(agentID) }

// Commit commits a change, completes its events, and wakes the lanes that it concerns. It returns [ErrMoved] if another writer was first.
func (e Env) Commit(ctx context.Context, c *daemon.Change) error { return e.d.Commit(ctx, c) }

// Update changes an agent's row. If another writer changes the row first, it reads the row again and calls change with the new row. If
// change returns [ErrUnchanged], nothing is written.
func (e Env) Update(ctx context.Context, id int64, change func(a *daemon.Agent, c *daemon.Change) error) (daemon.Agent, error) {
	return e.d.ChangeAgent(ctx, id, change)
}

// UpdateActive is Update for an agent that must be active.
func (e Env) UpdateActive(ctx context.Context, id int64, change func(a *daemon.Agent, c *daemon.Change) error) (daemon.Agent, error) {
	return e.d.UpdateAgent(ctx, id, change)
}

// Event makes an event about an agent, and about the pipeline that it works for; with nil, an event of the host.
func (e Env) Event(typ event.Type, a *daemon.Agent, payload map[string]any) *event.Event {
	if a == nil {
		return e.d.Event(typ, nil, nil, payload)
	}
	return e.d.Event(typ, &a.ID, nil, payload).For(a.PipelineID, a.StepID)
}

// StateEvent makes the event of an agent's new state, and the notice if it waits for a person.
func (e Env) StateEvent(a *daemon.Agent, payload map[string]any) *event.Event {
	return e.d.Facts().StateEvent(a, payload)
}

// Sight returns what is seen of agents, and how their panes are reached.
func (e Env) Sight() EnvSight { return EnvSight(e) }

// Work returns how work is passed on.
func (e Env) Work() EnvWork { return EnvWork(e) }

// ActiveAgents returns the agents of this host that have not ended, in the order of their ids.
func (e Env) ActiveAgents(ctx context.Context) ([]daemon.Agent, error) { return e.d.Roster.Agents(ctx) }

// PermissionEvent makes an event about a permission of an agent.
func (e Env) PermissionEvent(typ event.Type, p *daemon.Permission, a *daemon.Agent) *event.Event {
	return e.d.Facts().PermissionEvent(typ, p, a)
}

// Agent returns an agent as people are shown it.
func (e Env) Agent(ctx context.Context, id int64) (daemon.Agent, error) { return e.d.Agent(ctx, id) }

// PipelineEvent makes an event about a pipeline and a step of it, with the step's newest agent; nil: about no step.
func (e Env) PipelineEvent(typ event.Type, p *daemon.Pipeline, s *daemon.Step, payload map[string]any) *event.Event {
	return e.d.PipelineEvent(typ, p, s, payload)
}

// TreeEvent makes an event about a work tree.
func (e Env) TreeEvent(typ event.Type, t *daemon.Worktree, payload map[string]any) *event.Event {
	return e.d.TreeEvent(typ, t, payload)
}

// Alert logs an event that the operator is told of. If it cannot be stored, the log of the process says so.
func (e Env) Alert(typ event.Type, message string) { e.d.Alert(typ, message) }

// NotFromAgent refuses what a process that is an agent, or runs inside one, must not do. sender is nil for a request over TCP.
func (e Env) NotFromAgent(ctx context.Context, sender *tmux.Peer, code daemon.Code, what string) error {
	return e.d.NotFromAgent(ctx, sender, code, what)
}

// Join gives a room's part to a daemon, and returns what the room has of the daemon. Call it before Run.
func Join(d *Daemon, p engine.Part) Env {
	engine.Join(d.Engine, p)
	return Env{d}
}
