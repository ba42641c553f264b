package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/storetext"
	"github.com/understudyd/understudy/daemon/tell"
)

const insertPush = `INSERT INTO pushes (host, target, key, message, next_at, created_at) VALUES ($1, $2, $3, $4::jsonb, $5, $6)`

// pushes queues the inserts of new pushes.
func (w *write) pushes(pushes []tell.Push) error {
	for i := range pushes {
		p := &pushes[i]
		message, err := marshalStorable(p.Message)
		if err != nil {
			return fmt.Errorf("push to %s: %w", p.Target, err)
		}
		w.batch.Queue(insertPush, storable(p.Host, p.Target, p.Key, string(message), p.NextAt, w.at)...)
	}
	return nil
}

const listOpenPushes = `
	SELECT id, host, target, key, message, state, attempts, next_at, maybe_twice, error, created_at, ended_at FROM pushes
	WHERE host = $1 AND ($2 = '' OR target = $2) AND ended_at IS NULL
	ORDER BY id LIMIT 200`

// OpenPushes returns the pushes to a target of a host that have not ended; the target "" stands for all.
func (db *logStore) OpenPushes(ctx context.Context, host, target string) ([]tell.Push, error) {
	return list[tell.Push](ctx, db, "open pushes", listOpenPushes, storable(host, target)...)
}

const updatePush = `
	UPDATE pushes SET state = $4, attempts = $5, next_at = $6, maybe_twice = $7, error = $8,
	       ended_at = CASE WHEN $4 IN ('sent', 'failed') THEN $9::timestamptz END
	WHERE id = $1 AND state = $2 AND attempts = $3`

// MovePush changes a push if its row is in the state from after that many attempts, and appends the event e.
func (db *logStore) MovePush(ctx context.Context, p *tell.Push, from tell.PushState, attempts int, e *event.Event) (moved bool, err error) {
	err = db.commit(ctx, &daemon.Change{Events: e.List()}, func(_ pgx.Tx, w *write) error {
		w.guarded(fmt.Sprintf("push %d", p.ID), updatePush, p.ID, string(from), attempts, string(p.State), p.Attempts, p.NextAt,
			p.MaybeTwice, storetext.Text(p.Error), w.at)
		w.events()
		return nil
	})
	switch {
	case errors.Is(err, daemon.ErrMoved):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("push %d: %w", p.ID, unavailable(err))
	}
	return true, nil
}

const listPushReports = `
	SELECT target, count(*) FILTER (WHERE ended_at IS NULL) AS open, count(*) FILTER (WHERE maybe_twice) AS twice,
	       COALESCE(bool_or(error <> '') FILTER (WHERE ended_at IS NULL), false) AS retrying,
	       max(ended_at) FILTER (WHERE state = 'sent') AS sent_at, max(ended_at) FILTER (WHERE state = 'failed') AS failed_at,
	       COALESCE((array_agg(error ORDER BY id DESC) FILTER (WHERE error <> ''))[1], '') AS error
	FROM pushes WHERE host = $1 GROUP BY target ORDER BY target COLLATE "C"`

// PushReports says how the targets of a host do.
func (db *logStore) PushReports(ctx context.Context, host string) ([]tell.PushReport, error) {
	return list[tell.PushReport](ctx, db, "push reports", listPushReports, storetext.Text(host))
}

const prunePushes = `DELETE FROM pushes WHERE host = $1 AND ended_at < $2`

// PrunePushes deletes the pushes of a host that ended before a time.
func (db *logStore) PrunePushes(ctx context.Context, host string, before time.Time) error {
	_, err := db.poolFor(ctx).Exec(ctx, prunePushes, storetext.Text(host), before)
	if err != nil {
		return fmt.Errorf("prune pushes: %w", unavailable(err))
	}
	return nil
}
