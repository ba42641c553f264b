package db

import (
	"context"
	"fmt"

	"github.com/understudyd/understudy/daemon"
)

// worktreeColumns lists the columns in the order of [worktreeValues].
const worktreeColumns = `id, host, repository, path, workdir, branch, new_branch, base, base_commit, state, task, last, copied, kept_ref,
	created_at, made_at, removed_at, rev`

func worktreeValues(t *daemon.Worktree) []any {
	return storable(t.ID, t.Host, t.Repository, t.Path, t.Workdir, t.Branch, t.NewBranch, t.Base, t.BaseCommit, t.State, t.Task, t.Last,
		notNil(t.Copied), t.KeptRef, t.CreatedAt, t.MadeAt, t.RemovedAt, t.Rev)
}

const selectWorktrees = `SELECT ` + worktreeColumns + ` FROM worktrees `

var insertWorktree = `INSERT INTO worktrees (` + worktreeColumns + `) VALUES (` + placeholders(worktreeColumns) + `)`

// updateWorktree takes, after the columns, the rev with which the row was read.
var updateWorktree = fmt.Sprintf(`UPDATE worktrees SET (%s) = ROW(%s) WHERE id = $1 AND rev = $%d`,
	worktreeColumns, placeholders(worktreeColumns), count(worktreeColumns)+1)

// newWorktree queues the insert of a work tree. Call it before the insert of its agent.
func (w *write) newWorktree() {
	if w.NewWorktree != nil {
		w.batch.Queue(insertWorktree, worktreeValues(w.NewWorktree)...)
	}
}

// worktrees queues the updates of work trees.
func (w *write) worktrees() {
	for _, t := range sortedBy(w.Worktrees, func(t *daemon.Worktree) int64 { return t.ID }) {
		next := *t
		next.Rev++
		w.guarded(fmt.Sprintf("worktree %d", t.ID), updateWorktree, append(worktreeValues(&next), t.Rev)...)
		w.done = append(w.done, func() { t.Rev = next.Rev })
	}
}

const selectWorktree = selectWorktrees + `WHERE id = $1`

// Worktree returns the work tree with this id. If there is none, the error is [daemon.ErrNotFound].
func (db *DB) Worktree(ctx context.Context, id int64) (daemon.Worktree, error) {
	return one[daemon.Worktree](ctx, db, fmt.Sprintf("worktree %d", id), selectWorktree, id)
}

const listWorktrees = selectWorktrees + `
	WHERE ($1 = '' OR host = $1) AND (NOT $2 OR state IN ('planned', 'standing')) AND ($3::bigint = 0 OR id < $3) ORDER BY id DESC LIMIT $4`

// Worktrees lists the work trees that f selects, the newest first.
func (db *DB) Worktrees(ctx context.Context, f daemon.WorktreeFilter) ([]daemon.Worktree, error) {
	return list[daemon.Worktree](ctx, db, "list of work trees", listWorktrees, f.Host, f.There, f.Before, limitOr(f.Limit, 100))
}

const listOpenWorktrees = `SELECT id FROM worktrees WHERE host = $1 AND task IS NOT NULL`
