package storetest

import (
	"fmt"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// newWorktree commits a work tree of host h1, after change if that is not nil.
func newWorktree(t testing.TB, st daemon.Store, change func(*daemon.Worktree)) *daemon.Worktree {
	t.Helper()
	w := &daemon.Worktree{ID: nextOf(t, st, daemon.WorktreeIDs), Host: "h1", Branch: "b", State: daemon.TreePlanned, CreatedAt: now()}
	if change != nil {
		change(w)
	}
	Commit(t, st, &daemon.Change{NewWorktree: w})
	return w
}

func constraintsKeepNonsenseOutOfWorktrees(t *testing.T, st daemon.Store) {
	a := NewAgent(t, st, nil)
	a.WorktreeID = ptr(int64(999))
	bad := func(state daemon.TreeState, pipelineID *int64) *daemon.Change {
		return &daemon.Change{NewWorktree: &daemon.Worktree{ID: 8, Host: "h1", Branch: "b", State: state, PipelineID: pipelineID, CreatedAt: now()}}
	}
	for constraint, c := range map[string]*daemon.Change{
		"worktrees_state_known":      bad("gone", nil),
		"worktrees_pipeline_id_fkey": bad(daemon.TreeStanding, ptr(int64(999))),
		"agents_worktree_id_fkey":    {Agents: []*daemon.Agent{a}},
	} {
		if err := st.Commit(t.Context(), c); !violates(err, constraint) {
			t.Errorf("%s: %v", constraint, err)
		}
	}
}

func (d *drawer) worktreeID() int64 {
	return id(d, d.worktrees, func(w *daemon.Worktree) int64 { return w.ID })
}

// addWorktree draws a new work tree.
func (d *drawer) addWorktree(c *daemon.Change) string {
	c.NewWorktree = d.worktree(&daemon.Worktree{ID: d.newID(daemon.WorktreeIDs)})
	return "new worktree"
}

// changeWorktree draws a change of a work tree.
func (d *drawer) changeWorktree(c *daemon.Change) string {
	w := one(d, d.worktrees...)
	d.stale(&w.Rev)
	c.Worktrees = append(c.Worktrees, d.worktree(&w))
	return fmt.Sprint("worktree ", w.ID)
}

func (d *drawer) worktree(was *daemon.Worktree) *daemon.Worktree {
	w := &daemon.Worktree{}
	d.fill(w)
	w.ID, w.Rev, w.Host, w.PipelineID = was.ID, was.Rev, one(d, hosts...), nil
	w.State = one(d, daemon.TreePlanned, daemon.TreeStanding, daemon.TreeFailed, daemon.TreeRemoved)
	if d.half() && len(d.pipelines) > 0 {
		w.PipelineID = ptr(d.pipelineID())
	}
	if !d.mostly() {
		w.State = "gone"
	}
	return w
}
