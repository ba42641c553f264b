package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/worktree"
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

func worktreeIsKeptWhole(t *testing.T, st daemon.Store) {
	of := NewPipeline(t, st, 1, nil)
	whole := func() *daemon.Worktree {
		var w daemon.Worktree
		fill(reflect.ValueOf(&w).Elem())
		w.ID, w.State, w.PipelineID = 7, daemon.TreeStanding, &of.ID
		return &w
	}
	w := whole()
	a := &daemon.Agent{ID: 70, Name: "a", Runtime: "claude", Host: "h1", State: daemon.Idle, Generation: 1, CreatedAt: now(), WorktreeID: &w.ID}
	Commit(t, st, &daemon.Change{NewWorktree: w, NewAgent: a})
	equal(t, "inserted", result(st.Worktree(t.Context(), 7))(t), *w)
	equal(t, "its agent", *result(st.Agent(t.Context(), 70))(t).WorktreeID, int64(7))
	next := whole()
	next.Rev, next.Task, next.Last, next.State, next.KeptRef = w.Rev, nil, nil, daemon.TreeRemoved, "refs/x"
	Commit(t, st, &daemon.Change{Worktrees: []*daemon.Worktree{next}})
	equal(t, "updated", result(st.Worktree(t.Context(), 7))(t), *next)
	if err := st.Commit(t.Context(), &daemon.Change{Worktrees: []*daemon.Worktree{w}}); !errors.Is(err, daemon.ErrMoved) {
		t.Errorf("an old row was written: %v", err)
	}
	if _, err := st.Worktree(t.Context(), 999); !errors.Is(err, daemon.ErrNotFound) {
		t.Errorf("unknown work tree: %v", err)
	}
	bad := whole()
	bad.ID, bad.State = 8, "gone"
	if err := st.Commit(t.Context(), &daemon.Change{NewWorktree: bad}); !violates(err, "worktrees_state_known") {
		t.Errorf("an unknown state: %v", err)
	}
	bad.State, bad.PipelineID = daemon.TreeStanding, ptr(int64(999))
	if err := st.Commit(t.Context(), &daemon.Change{NewWorktree: bad}); !violates(err, "worktrees_pipeline_id_fkey") {
		t.Errorf("an unknown pipeline: %v", err)
	}
	a.WorktreeID = ptr(int64(999))
	if err := st.Commit(t.Context(), &daemon.Change{Agents: []*daemon.Agent{a}}); !violates(err, "agents_worktree_id_fkey") {
		t.Errorf("an unknown tree of an agent: %v", err)
	}
}

func listsOfWorktrees(t *testing.T, st daemon.Store) {
	p := NewPipeline(t, st, 1, nil)
	one, two := newWorktree(t, st, nil), newWorktree(t, st, func(w *daemon.Worktree) { w.PipelineID = &p.ID })
	three := newWorktree(t, st, func(w *daemon.Worktree) { w.Host = "h2" })
	equal(t, "planned ones are open", result(st.Open(t.Context(), "h1"))(t).Trees, []int64{one.ID, two.ID})
	one.State, two.State, two.Task = daemon.TreeRemoved, daemon.TreeStanding, &daemon.TreeTask{Do: daemon.TreeMerge, Into: "main"}
	Commit(t, st, &daemon.Change{Worktrees: []*daemon.Worktree{two, one}})
	list := func(f daemon.WorktreeFilter) []int64 { return idsOf(result(st.Worktrees(t.Context(), f))(t)) }
	equal(t, "all", list(daemon.WorktreeFilter{}), []int64{three.ID, two.ID, one.ID})
	equal(t, "that are there", list(daemon.WorktreeFilter{There: true, Host: "h1"}), []int64{two.ID})
	equal(t, "before", list(daemon.WorktreeFilter{Before: two.ID}), []int64{one.ID})
	equal(t, "of a pipeline", list(daemon.WorktreeFilter{PipelineID: p.ID}), []int64{two.ID})
	equal(t, "limit", list(daemon.WorktreeFilter{Limit: 1}), []int64{three.ID})
	equal(t, "open", result(st.Open(t.Context(), "h1"))(t).Trees, []int64{two.ID})
	equal(t, "open on another host", result(st.Open(t.Context(), "h2"))(t).Trees, []int64{three.ID})
}

// worktreeOutlivesItsPipeline: the tree of a pipeline that is deleted stays.
func worktreeOutlivesItsPipeline(t *testing.T, st daemon.Store) {
	p := NewPipeline(t, st, 1, func(p *daemon.Pipeline) { p.Status, p.FinishedAt = daemon.PipelineDone, ptr(now().Add(-2*time.Hour)) })
	w := newWorktree(t, st, func(w *daemon.Worktree) { w.PipelineID = &p.ID })
	if pruned := forget(t, st); pruned.Pipelines != 1 {
		t.Errorf("deleted: %+v", pruned)
	}
	if got := result(st.Worktree(t.Context(), w.ID))(t); got.PipelineID != nil || got.Rev == w.Rev {
		t.Errorf("the tree: %+v", got)
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

func (d *drawer) worktree(w *daemon.Worktree) *daemon.Worktree {
	w.Host, w.Repository, w.Path, w.Workdir, w.Branch, w.NewBranch = one(d, hosts...), d.word(), d.word(), d.word(), d.word(), d.half()
	w.Base, w.BaseCommit, w.KeptRef, w.CreatedAt, w.MadeAt, w.RemovedAt = d.word(), d.word(), d.word(), d.at(), maybe(d, d.at()), maybe(d, d.at())
	w.State = one(d, daemon.TreePlanned, daemon.TreeStanding, daemon.TreeFailed, daemon.TreeRemoved)
	if w.PipelineID = nil; d.half() && len(d.pipelines) > 0 {
		w.PipelineID = ptr(d.pipelineID())
	}
	w.Task, w.Last, w.Copied = nil, nil, one(d, nil, []worktree.Copied{{Path: d.word(), Files: 1, Bytes: d.rand.Int64N(1e12)}})
	if d.half() {
		w.Task = &daemon.TreeTask{Do: daemon.TreeMerge, Into: d.word(), Force: d.half(), At: d.at()}
	}
	if d.half() {
		w.Last = &daemon.TreeOutcome{Do: daemon.TreeRemove, Done: d.half(), Says: d.word(), Conflicts: one(d, nil, []string{d.word()}), At: d.at()}
	}
	if !d.mostly() {
		w.State = "gone"
	}
	return w
}
