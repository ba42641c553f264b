package sight

import (
	"context"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/worktree"
)

// headEvery is how often the daemon looks which branch is checked out in an agent's directory.
const headEvery = 5 * time.Second

// NoteHead notes the repository and the branch of an agent's directory.
func (d *Sight) NoteHead(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	if !d.headDue(a.ID) || !headMoved(a) {
		return false, 0, nil
	}
	err := d.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}})
	if err != nil {
		d.LookAgain(a.ID)
	}
	return true, 0, err
}

// LookAtHeads wakes the agents in whose directories something else is checked out than their rows say: the lane of an agent at
// rest has no other reason to look. It does not wait for the file system, and begins no second look while one still runs.
func (d *Sight) LookAtHeads(ctx context.Context, agents []daemon.Agent) {
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
	d.Lanes.Spawn(func() {
		defer d.heading.Store(false)
		for i := range due {
			if ctx.Err() == nil && headMoved(&due[i]) {
				d.LookAgain(due[i].ID)
				d.Wake(due[i].ID)
			}
		}
	})
}

// headDue reports whether it is time to look at the head of an agent's directory. If so, it takes that as done.
func (d *Sight) headDue(id int64) (due bool) {
	now := time.Now()
	d.memories.Change(id, func(m *sightMemory) {
		if due = now.Sub(m.headAt) >= headEvery; due {
			m.headAt = now
		}
	})
	return due
}

// LookAgain makes the next look at the head of an agent's directory due: what the last one saw is not on the row yet.
func (d *Sight) LookAgain(id int64) {
	d.memories.Change(id, func(m *sightMemory) { m.headAt = time.Time{} })
}

// headMoved sets the repository and the branch to what git's files say, and reports whether that changed anything.
func headMoved(a *daemon.Agent) bool {
	repository, branch := worktree.Head(a.Cwd)
	moved := repository != a.Repository || branch != a.Branch
	a.Repository, a.Branch = repository, branch
	return moved
}
