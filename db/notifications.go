package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/storetext"
	"github.com/understudyd/understudy/daemon/tell"
)

const selectPreferences = `SELECT waiting, completed, updated_at FROM notification_preferences WHERE host = $1`

// NotificationPreferences returns a host's preferences, or [tell.DefaultPreferences] if none were set.
func (db *DB) NotificationPreferences(ctx context.Context, host string) (tell.Preferences, error) {
	p, err := one[tell.Preferences](ctx, db, fmt.Sprintf("preferences of host %.64q", host), selectPreferences, storetext.Text(host))
	if errors.Is(err, daemon.ErrNotFound) {
		return tell.DefaultPreferences, nil
	}
	return p, err
}

// addPreferences inserts the row that lockPreferences locks.
const addPreferences = `
	INSERT INTO notification_preferences (host, waiting, completed, updated_at) VALUES ($1, $2, $3, $4)
	ON CONFLICT DO NOTHING`

const lockPreferences = selectPreferences + ` FOR UPDATE`

const updatePreferences = `UPDATE notification_preferences SET waiting = $2, completed = $3, updated_at = $4 WHERE host = $1`

// ChangeNotificationPreferences calls change to change a host's preferences. In the same transaction it appends the
// event that change returns, unless that is nil. Of two concurrent changes the second sees the result of the first.
func (db *DB) ChangeNotificationPreferences(ctx context.Context, host string,
	change func(*tell.Preferences) *event.Event) (p tell.Preferences, err error) {
	err = db.commit(ctx, &daemon.Change{}, func(tx pgx.Tx, w *write) error {
		first := tell.DefaultPreferences
		if _, err := tx.Exec(ctx, addPreferences, storable(host, first.Waiting, first.Completed, w.at)...); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, lockPreferences, storetext.Text(host))
		if err != nil {
			return err
		}
		if p, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[tell.Preferences]); err != nil {
			return err
		}
		w.Events = change(&p).List()
		p.UpdatedAt = &w.at
		w.batch.Queue(updatePreferences, storable(host, p.Waiting, p.Completed, w.at)...)
		w.events()
		return nil
	})
	if err != nil {
		return tell.Preferences{}, fmt.Errorf("preferences of host %.64q: %w", host, unavailable(err))
	}
	return p, nil
}
