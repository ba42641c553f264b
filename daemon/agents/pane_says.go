package agents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/tmux"
)

// When an agent that a person started is handed over, a shell may run in the pane by then, so nothing may be typed there. What
// remains is an option of the pane, which the line of `understudy statusbar --conf` shows. Rows say whether it is true, so
// the lane of the agent that goes on keeps it: the lane says it once in each run of the daemon, and takes it back before the
// agent's end is committed. Thus a daemon that is killed leaves nothing wrong for longer than until the next one.

// SayWhoGoesOn says in the person's pane from which an agent's work came that the agent goes on. In the pane of an agent that a
// person has started, it removes what was said of an earlier one.
func (d *Supervisor) SayWhoGoesOn(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	if a.RegisteredAt == nil || d.memories.Of(a.ID).said {
		return false, 0, nil
	}
	d.memories.Change(a.ID, func(m *supervisorMemory) { m.said = true })
	if !a.Managed && a.HasPane() {
		d.logSaid(a, d.atPane(a.Ref(), func(t engine.Terminal) error { return t.Unsay(ctx, a.Ref(), 0) }))
	}
	ref, ok, err := d.personsPane(ctx, a)
	if err != nil || !ok {
		return false, 0, err
	}
	said := fmt.Sprintf("agent %d (%s) goes on: understudy agent attach %[1]d", a.ID, a.Name)
	d.logSaid(a, d.atPane(ref, func(t engine.Terminal) error { return t.Say(ctx, ref, a.ID, said) }))
	return false, 0, nil
}

// unsay takes back what was said of an agent that ends.
func (d *Supervisor) unsay(ctx context.Context, a *daemon.Agent) {
	ref, ok, err := d.personsPane(ctx, a)
	if err == nil && ok {
		err = d.atPane(ref, func(t engine.Terminal) error { return t.Unsay(ctx, ref, a.ID) })
	}
	d.logSaid(a, err)
}

func (d *Supervisor) atPane(ref tmux.Ref, do func(engine.Terminal) error) error {
	term, err := d.Terminal(ref.Socket)
	if err != nil {
		return err
	}
	return do(term)
}

// logSaid only logs an error: the pane's server may be gone, and the handoff's end is told elsewhere as well.
func (d *Supervisor) logSaid(a *daemon.Agent, err error) {
	if err != nil && !errors.Is(err, tmux.ErrGone) {
		d.Log.Debug("the pane of a person was not told who goes on", "agent_id", a.ID, "error", err)
	}
}

// personsPane returns the pane of the agent from which an agent's work came, if a person has started that agent, it has ended,
// and no other agent is in its pane by now.
func (d *Supervisor) personsPane(ctx context.Context, a *daemon.Agent) (tmux.Ref, bool, error) {
	for at := a; at.PreviousAgentID != nil && *at.PreviousAgentID < at.ID; {
		prev, err := d.Store.Agent(ctx, *at.PreviousAgentID)
		switch {
		case errors.Is(err, daemon.ErrNotFound): // its history was pruned
			return tmux.Ref{}, false, nil
		case err != nil:
			return tmux.Ref{}, false, err
		case prev.Active() || prev.Host != d.Host:
			return tmux.Ref{}, false, nil
		case prev.Managed:
			at = &prev
			continue
		case !prev.HasPane():
			return tmux.Ref{}, false, nil
		}
		others, err := d.Roster.Agents(ctx)
		for i := range others {
			if o := &others[i]; o.HasPane() && o.Ref() == prev.Ref() {
				return tmux.Ref{}, false, nil
			}
		}
		return prev.Ref(), err == nil, err
	}
	return tmux.Ref{}, false, nil
}
