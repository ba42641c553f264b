package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/tmux"
)

// Env is what a room has of the daemon that it has joined: see [Join]. Its methods are safe for concurrent use.
type Env struct{ d *Daemon }

// Now returns the time of day, for rows. Its clock may be set, forwards and back.
func (e Env) Now() time.Time { return e.d.now() }

// Spent returns how much of the time since the given time of a row counts against a deadline: time in which no daemon ran does not.
func (e Env) Spent(since time.Time) time.Duration { return e.d.timeSpent(since) }

// Settings returns the operator's settings. Nobody changes them: a reload puts others in their place.
func (e Env) Settings() *Settings { return e.d.Settings() }

// Log returns the log of the process.
func (e Env) Log() *slog.Logger { return e.d.Log }

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
func (e Env) Commit(ctx context.Context, c *Change) error { return e.d.commit(ctx, c) }

// Update changes an agent's row. If another writer changes the row first, it reads the row again and calls change with the new row. If
// change returns [ErrUnchanged], nothing is written.
func (e Env) Update(ctx context.Context, id int64, change func(a *Agent, c *Change) error) (Agent, error) {
	return e.d.changeAgent(ctx, id, change)
}

// UpdateActive is Update for an agent that must be active.
func (e Env) UpdateActive(ctx context.Context, id int64, change func(a *Agent, c *Change) error) (Agent, error) {
	return e.d.updateAgent(ctx, id, change)
}

// Event makes an event about an agent, and about the pipeline that it works for.
func (e Env) Event(typ event.Type, a *Agent, payload map[string]any) *event.Event {
	return e.d.event(typ, &a.ID, nil, payload).For(a.PipelineID, a.StepID)
}

// StateEvent makes the event of an agent's new state, and the notice if it waits for a person.
func (e Env) StateEvent(a *Agent, payload map[string]any) *event.Event {
	return e.d.facts().stateEvent(a, payload)
}

// Agent returns an agent as people are shown it.
func (e Env) Agent(ctx context.Context, id int64) (Agent, error) { return e.d.Agent(ctx, id) }

// AutoFor returns the settings of automatic handoffs for an agent: those of its persona, over the operator's.
func (e Env) AutoFor(a *Agent) AutoSettings { return e.d.factsFor(a).autoFor(a) }

// Generations returns the newest generations of an agent's line, at most most, the oldest first.
func (e Env) Generations(ctx context.Context, a *Agent, most int) ([]Generation, error) {
	return e.d.Generations(ctx, a, most)
}

// Handoff returns a handoff as people are shown it.
func (e Env) Handoff(ctx context.Context, id int64) (Handoff, error) { return e.d.Handoff(ctx, id) }

// AgentInPane returns an active agent of this host that has a pane. It refuses others.
func (e Env) AgentInPane(ctx context.Context, id int64) (Agent, error) {
	a, err := e.d.Agent(ctx, id)
	switch {
	case err != nil:
		return a, err
	case !a.Active():
		return a, errAgentNotActive
	case !a.HasPane():
		return a, errAgentNoPane
	}
	return a, e.d.requireThisHost(a.Host)
}

// NotFromAgent refuses what a process that is an agent, or runs inside one, must not do. sender is nil for a request over TCP.
func (e Env) NotFromAgent(ctx context.Context, sender *tmux.Peer, code Code, what string) error {
	return e.d.notFromAgent(ctx, sender, code, what)
}

// Terminal returns the tmux server that holds an agent's pane. It types into the pane only while it is the agent's.
func (e Env) Terminal(a *Agent) (Terminal, error) { return e.d.terminalOf(a) }

// InFront reports whether an agent gets what is typed into its terminal.
func (e Env) InFront(a *Agent) bool { return e.d.inFront(a) }

// ReadDialog reads the dialog that an agent's pane shows. It refuses if there is none.
func (e Env) ReadDialog(ctx context.Context, a *Agent) (*ShownDialog, error) {
	return e.d.readDialog(ctx, a)
}
