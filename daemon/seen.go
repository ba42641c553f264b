package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktree"
)

// finished notes that an agent has finished a turn of its own work and is at rest. The agent's Stop calls it. A turn is not
// finished for the operator while background tasks run, because the runtime goes on by itself when they end. The agents of a
// pipeline are left out: the pipeline goes on with what they said.
func (h *hookStep) finished() {
	a := h.tx.Agent
	if a.State != Idle || a.BackgroundTasks > 0 || a.PipelineID != nil {
		return
	}
	at := h.in.At
	a.Unread, a.FinishedAt = true, &at
	if !h.d.notifiesFinished(a) {
		return
	}
	said := ""
	if a.LastMessage != "" {
		said = " " + words.Quote(a.LastMessage)
	}
	h.event(event.AgentFinished, map[string]any{
		"agent_name": a.Name, "message": fmt.Sprintf("Agent %d (%s) has finished its turn%s: `understudy agent show %[1]d`.", a.ID, a.Name, said),
	}, a)
	h.out.Change.Events[len(h.out.Change.Events)-1].Notice = event.NoticeFinished
}

// notifiesFinished reports whether the operator is notified when the agent has finished a turn: as the agent says, else as its
// persona says.
func (d *Daemon) notifiesFinished(a *Agent) bool {
	says := a.NotifyFinished
	if says == "" && a.Persona != nil {
		if p, err := d.Personas.Get(*a.Persona); err == nil {
			says = p.NotifyFinished
		}
	}
	return says == "on"
}

// SeeAgent notes that the operator has seen what an agent has finished. until is the FinishedAt that they were shown: a turn
// that was finished later stays unread. If nothing is unread, nothing is written.
func (d *Daemon) SeeAgent(ctx context.Context, id int64, until time.Time) (Agent, error) {
	a, err := d.Agent(ctx, id)
	if err != nil || !a.unreadUntil(until) {
		return a, err
	}
	a, err = d.updateAgent(ctx, id, func(a *Agent, c *Change) error {
		if a.unreadUntil(until) {
			a.Unread = false
			c.Events = []*event.Event{d.event(event.AgentSeen, &a.ID, nil, nil).For(a.PipelineID, a.StepID)}
		}
		return nil
	})
	if errors.Is(err, errAgentNotActive) {
		return a, nil // it has ended since the look above, so nothing of it is unread
	}
	return a, err
}

// unreadUntil reports whether the agent is unread, and has finished no turn after the time until. The store keeps
// microseconds, and so does JSON.
func (a *Agent) unreadUntil(until time.Time) bool {
	return a.Unread && a.Active() && a.FinishedAt != nil && !a.FinishedAt.Truncate(time.Microsecond).After(until)
}

// RenameAgent gives an active agent another name. Its successors have that name, too.
func (d *Daemon) RenameAgent(ctx context.Context, id int64, name string) (Agent, error) {
	if err := checkLine("name", name, maxName); err != nil {
		return Agent{}, err
	}
	if err := checkName(name); err != nil {
		return Agent{}, err
	}
	return d.updateAgent(ctx, id, func(a *Agent, c *Change) error {
		if a.Name != name {
			c.Events = []*event.Event{d.event(event.AgentRenamed, &a.ID, nil, map[string]any{"name": name, "was": a.Name}).For(a.PipelineID, a.StepID)}
			a.Name = name
		}
		return nil
	})
}

// NotifyWhenFinished sets whether the operator is notified when an agent has finished a turn: "on", "off", or "" for what its
// persona says.
func (d *Daemon) NotifyWhenFinished(ctx context.Context, id int64, says string) (Agent, error) {
	if says != "" && says != "on" && says != "off" {
		return Agent{}, Errorf(KindInvalid, CodeBadNotify, "notify_finished must be \"on\", \"off\", or \"\" for what the agent's persona says")
	}
	return d.updateAgent(ctx, id, func(a *Agent, _ *Change) error {
		a.NotifyFinished = says
		return nil
	})
}

// headEvery is how often the daemon looks which branch is checked out in an agent's directory.
const headEvery = 5 * time.Second

// noteHead notes the repository and the branch of an agent's directory.
func (d *Daemon) noteHead(ctx context.Context, a *Agent) (bool, time.Duration, error) {
	now, due := time.Now(), false
	d.memories.change(a.ID, func(m *agentMemory) {
		if due = now.Sub(m.headAt) >= headEvery; due {
			m.headAt = now
		}
	})
	if !due {
		return false, 0, nil
	}
	repository, branch := worktree.Head(a.Cwd)
	if repository == a.Repository && branch == a.Branch {
		return false, 0, nil
	}
	a.Repository, a.Branch = repository, branch
	return true, 0, d.commit(ctx, &Change{Agents: []*Agent{a}})
}
