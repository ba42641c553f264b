package db

import (
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestTreesOfTheLastRelease: the tree of a pipeline that a daemon of the last release has made gets its row, once. A row that was made there
// without its pipeline leads to the pipeline.
func TestTreesOfTheLastRelease(t *testing.T) {
	t.Parallel()
	db, ctx := open(t), t.Context()
	made := func(path string) *daemon.Pipeline {
		return newRun(t, db, 1, func(p *daemon.Pipeline) { p.Branch, p.Worktree, p.WorkDir = &p.Title, &path, path })
	}
	without, adopted, none := made("/trees/1"), made("/trees/2"), newRun(t, db, 1, nil)
	id := value(db.NextID(ctx, daemon.WorktreeIDs))(t)
	commit(t, db, &daemon.Change{NewWorktree: &daemon.Worktree{ID: id, Host: adopted.Host, Path: "/trees/2", State: daemon.TreeStanding, CreatedAt: adopted.CreatedAt}})
	for range 2 {
		must(t, db.keepOldTrees(ctx))
		list, err := db.Worktrees(ctx, daemon.WorktreeFilter{})
		if err != nil || len(list) != 2 {
			t.Fatalf("the trees: %+v, %v", list, err)
		}
		if w := list[0]; *w.PipelineID != without.ID || w.Path != "/trees/1" || w.Branch != without.Title || w.State != daemon.TreeStanding || w.Repository != without.Cwd {
			t.Errorf("the row that was missing: %+v", w)
		}
		if w := list[1]; w.ID != id || *w.PipelineID != adopted.ID {
			t.Errorf("the row without its pipeline: %+v", w)
		}
	}
	if none.Worktree != nil {
		t.Error("a pipeline without a tree has one")
	}
}
