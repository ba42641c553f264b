package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/daemon"
)

// worktreeColumns lists the columns in the order of [worktreeValues].
const worktreeColumns = `id, host, repository, path, workdir, branch, new_branch, base, base_commit, state, task, last, copied, kept_ref,
	created_at, made_at, removed_at, rev, pipeline_id`

func worktreeValues(t *daemon.Worktree) []any {
	return storable(t.ID, t.Host, t.Repository, t.Path, t.Workdir, t.Branch, t.NewBranch, t.Base, t.BaseCommit, t.State, t.Task, t.Last,
		notNil(t.Copied), t.KeptRef, t.CreatedAt, t.MadeAt, t.RemovedAt, t.Rev, t.PipelineID)
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
func (db *rowStore) Worktree(ctx context.Context, id int64) (daemon.Worktree, error) {
	return one[daemon.Worktree](ctx, db, fmt.Sprintf("worktree %d", id), selectWorktree, id)
}

const listWorktrees = selectWorktrees + `
	WHERE ($1 = '' OR host = $1) AND (NOT $2 OR state IN ('planned', 'standing')) AND ($3::bigint = 0 OR id < $3)
	  AND ($4::bigint = 0 OR pipeline_id = $4) ORDER BY id DESC LIMIT $5`

// Worktrees lists the work trees that f selects, the newest first.
func (db *rowStore) Worktrees(ctx context.Context, f daemon.WorktreeFilter) ([]daemon.Worktree, error) {
	return list[daemon.Worktree](ctx, db, "list of work trees", listWorktrees, f.Host, f.There, f.Before, f.PipelineID, limitOr(f.Limit, 100))
}

const listOpenWorktrees = `
	SELECT id FROM worktrees WHERE host = $1 AND task IS NOT NULL
	UNION
	SELECT id FROM worktrees WHERE host = $1 AND state = 'planned'`

// A daemon of the last release makes the tree of a pipeline without a row, and AdoptWorktree there makes a row that does not lead to its
// pipeline. So each start of a daemon looks for such pipelines, until no release before this one can write to this schema.
const (
	oldTrees = `SELECT id FROM pipelines p WHERE worktree IS NOT NULL AND branch IS NOT NULL
		AND NOT EXISTS (SELECT FROM worktrees w WHERE w.pipeline_id = p.id)`
	linkOldTrees = `UPDATE worktrees w SET pipeline_id = p.id, rev = w.rev + 1 FROM pipelines p
		WHERE p.id = ANY($1) AND w.host = p.host AND w.path = p.worktree AND w.pipeline_id IS NULL`
	insertOldTrees = `INSERT INTO worktrees (host, repository, path, workdir, branch, new_branch, base, base_commit, state, copied, kept_ref,
			created_at, made_at, rev, pipeline_id)
		SELECT host, cwd, worktree, worktree, branch, false, '', '', 'standing', '[]', '', created_at, started_at, 0, id
		FROM pipelines p WHERE id = ANY($1) AND NOT EXISTS (SELECT FROM worktrees w WHERE w.pipeline_id = p.id)`
	lockTrees = `LOCK TABLE worktrees IN SHARE ROW EXCLUSIVE MODE`
)

// keepOldTrees makes the rows that daemons of the last release have not made.
func (db *DB) keepOldTrees(ctx context.Context) error {
	ids, err := listIDs(ctx, db, "work trees of pipelines", oldTrees)
	if err != nil || len(ids) == 0 {
		return err
	}
	err = pgx.BeginTxFunc(ctx, db.pool, readCommitted, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockTrees); err != nil { // another daemon may start at the same time
			return err
		}
		return sendAll(ctx, tx, []any{ids}, linkOldTrees, insertOldTrees)
	})
	if err != nil {
		return fmt.Errorf("work trees of pipelines: %w", unavailable(err))
	}
	return nil
}
