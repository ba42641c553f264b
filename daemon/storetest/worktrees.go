package storetest

import (
	"fmt"

	"github.com/understudyd/understudy/daemon"
)

func worktreeID(d *drawer) int64 {
	return id(d, d.worktrees, func(w *daemon.Worktree) int64 { return w.ID })
}

// addWorktree draws a new work tree.
func (d *drawer) addWorktree(c *daemon.Change) string {
	c.NewWorktree = worktree(d, &daemon.Worktree{ID: d.newID(daemon.WorktreeIDs)})
	return "new worktree"
}

// changeWorktree draws a change of a work tree.
func (d *drawer) changeWorktree(c *daemon.Change) string {
	w := one(d, d.worktrees...)
	d.stale(&w.Rev)
	c.Worktrees = append(c.Worktrees, worktree(d, &w))
	return fmt.Sprint("worktree ", w.ID)
}

func worktree(d *drawer, was *daemon.Worktree) *daemon.Worktree {
	w := &daemon.Worktree{}
	d.fill(w)
	w.ID, w.Rev, w.Host, w.PipelineID = was.ID, was.Rev, one(d, hosts...), nil
	w.State = one(d, daemon.TreePlanned, daemon.TreeStanding, daemon.TreeFailed, daemon.TreeRemoved)
	if d.half() && len(d.pipelines) > 0 {
		w.PipelineID = new(d.pipelineID())
	}
	if !d.mostly() {
		w.State = "gone"
	}
	return w
}
