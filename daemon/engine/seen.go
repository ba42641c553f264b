package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/worktree"
)

// notifiesFinished reports whether the operator is notified when the agent has finished a turn: as the agent says, else as its
// persona says.
func (f *Facts) notifiesFinished(a *daemon.Agent) bool {
	return cmp.Or(a.NotifyFinished, f.persona(a).NotifyFinished) == "on"
}

// SeeAgent notes that the operator has seen what an agent has finished. until is the FinishedAt that they were shown: a turn
// that was finished later stays unread. If nothing is unread, nothing is written.
func (d *Daemon) SeeAgent(ctx context.Context, id int64, until time.Time) (daemon.Agent, error) {
	return d.changeAgent(ctx, id, func(a *daemon.Agent, c *daemon.Change) error {
		if !a.UnreadUntil(until) {
			return ErrUnchanged
		}
		a.See()
		c.Events = []*event.Event{d.event(event.AgentSeen, &a.ID, nil, nil).For(a.PipelineID, a.StepID)}
		return nil
	})
}

// RenameAgent gives an active agent another name. Its successors have that name, too.
func (d *Daemon) RenameAgent(ctx context.Context, id int64, name string) (daemon.Agent, error) {
	if err := daemon.CheckLine("name", name, maxName); err != nil {
		return daemon.Agent{}, err
	}
	if err := checkName(name); err != nil {
		return daemon.Agent{}, err
	}
	return d.updateAgent(ctx, id, func(a *daemon.Agent, c *daemon.Change) error {
		if a.Name != name {
			c.Events = []*event.Event{d.event(event.AgentRenamed, &a.ID, nil, map[string]any{"name": name, "was": a.Name}).For(a.PipelineID, a.StepID)}
			a.Name = name
		}
		return nil
	})
}

// NotifyWhenFinished sets whether the operator is notified when an agent has finished a turn: "on", "off", or "" for what its
// persona says.
func (d *Daemon) NotifyWhenFinished(ctx context.Context, id int64, says string) (daemon.Agent, error) {
	if says != "" && says != "on" && says != "off" {
		return daemon.Agent{}, daemon.Errorf(daemon.KindInvalid, daemon.CodeBadNotify, "notify_finished must be \"on\", \"off\", or \"\" for what the agent's persona says")
	}
	return d.updateAgent(ctx, id, func(a *daemon.Agent, _ *daemon.Change) error {
		a.NotifyFinished = says
		return nil
	})
}

// headEvery is how often the daemon looks which branch is checked out in an agent's directory.
const headEvery = 5 * time.Second

// noteHead notes the repository and the branch of an agent's directory.
func (d *Daemon) noteHead(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	if !d.headDue(a.ID) || !headMoved(a) {
		return false, 0, nil
	}
	err := d.commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}})
	if err != nil {
		d.lookAgain(a.ID)
	}
	return true, 0, err
}

// lookAtHeads wakes the agents in whose directories something else is checked out than their rows say: the lane of an agent at
// rest has no other reason to look. It does not wait for the file system, and begins no second look while one still runs.
func (d *Daemon) lookAtHeads(ctx context.Context, agents []daemon.Agent) {
	if !d.heading.CompareAndSwap(false, true) {
		return
	}
	var due []daemon.Agent
	for i := range agents {
		if a := &agents[i]; a.Started() && d.headDue(a.ID) {
			due = append(due, *a)
		}
	}
	if len(due) == 0 {
		d.heading.Store(false)
		return
	}
	d.lanes.Spawn(func() {
		defer d.heading.Store(false)
		for i := range due {
			if ctx.Err() == nil && headMoved(&due[i]) {
				d.lookAgain(due[i].ID)
				d.Wake(due[i].ID)
			}
		}
	})
}

// headDue reports whether it is time to look at the head of an agent's directory. If so, it takes that as done.
func (d *Daemon) headDue(id int64) (due bool) {
	now := time.Now()
	d.memories.change(id, func(m *agentMemory) {
		if due = now.Sub(m.headAt) >= headEvery; due {
			m.headAt = now
		}
	})
	return due
}

// lookAgain makes the next look at the head of an agent's directory due: what the last one saw is not on the row yet.
func (d *Daemon) lookAgain(id int64) {
	d.memories.change(id, func(m *agentMemory) { m.headAt = time.Time{} })
}

// headMoved sets the repository and the branch to what git's files say, and reports whether that changed anything.
func headMoved(a *daemon.Agent) bool {
	repository, branch := worktree.Head(a.Cwd)
	moved := repository != a.Repository || branch != a.Branch
	a.Repository, a.Branch = repository, branch
	return moved
}
