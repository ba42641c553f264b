package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/understudyd/understudy/daemon"
)

var treeStates = []daemon.TreeState{daemon.TreePlanned, daemon.TreeStanding, daemon.TreeFailed, daemon.TreeRemoved}

// newWorktree adds a work tree. It comes before the agent that works in it.
func (t *tx) newWorktree() error {
	w := t.c.NewWorktree
	if w == nil {
		return nil
	}
	if t.worktrees.get(w.ID) != nil {
		return violation("worktrees_pkey")
	}
	return t.putWorktree(w)
}

func (t *tx) worktreeRows() error {
	for _, w := range sortedBy(t.c.Worktrees, func(w *daemon.Worktree) int64 { return w.ID }) {
		row := t.worktrees.get(w.ID)
		if row == nil || row.Rev != w.Rev {
			t.refuse(fmt.Errorf("worktree %d: %w", w.ID, daemon.ErrMoved))
			continue
		}
		next := *w
		next.Rev++
		if err := t.putWorktree(&next); err != nil {
			return err
		}
		t.done = append(t.done, func() { w.Rev = next.Rev })
	}
	return nil
}

func (t *tx) putWorktree(w *daemon.Worktree) error {
	row := kept(*w)
	if err := check("worktrees_state_known", slices.Contains(treeStates, row.State)); err != nil {
		return err
	}
	write(t, &t.tables.worktrees, row.ID, &row)
	return check("worktrees_pipeline_id_fkey", t.pipelines.has(row.PipelineID))
}

// Worktree returns a work tree; [daemon.ErrNotFound] for an unknown id.
func (s *rowStore) Worktree(ctx context.Context, id int64) (daemon.Worktree, error) {
	return one(ctx, &s.view, &s.worktrees, id, "worktree %d", nil)
}

// Worktrees lists work trees, the newest first; 100 if f.Limit is 0.
func (s *rowStore) Worktrees(ctx context.Context, f daemon.WorktreeFilter) ([]daemon.Worktree, error) {
	leave, err := s.enter(ctx, "work trees")
	if err != nil {
		return nil, err
	}
	defer leave()
	return collect(&s.view, s.worktrees.newest(), limitOr(f.Limit, 100), func(w *daemon.Worktree) bool {
		there := w.State == daemon.TreePlanned || w.State == daemon.TreeStanding
		return (f.Host == "" || w.Host == f.Host) && (!f.There || there) && (f.Before == 0 || w.ID < f.Before) &&
			(f.PipelineID == 0 || w.PipelineID != nil && *w.PipelineID == f.PipelineID)
	}), nil
}

func (s *rowStore) openTrees(host string) []int64 {
	ids := []int64{}
	for id, w := range s.worktrees.all() {
		if w.Host == host && (w.Task != nil || w.State == daemon.TreePlanned) {
			ids = append(ids, id)
		}
	}
	return ids
}
