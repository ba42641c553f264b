package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
)

const eventColumns = `id, type, at, host, agent_id, handoff_id, pipeline_id, step_id, payload, alert, notice, cause`

const selectEvents = `SELECT ` + eventColumns + ` FROM events `

const listEvents = selectEvents + `
	WHERE id > $1
	  AND ($2::text[] IS NULL OR type = ANY($2))
	  AND ($3::bigint = 0 OR agent_id = $3)
	  AND ($4::bigint = 0 OR handoff_id = $4)
	  AND ($5::bigint = 0 OR pipeline_id = $5)
	ORDER BY id LIMIT $6`

// Events returns the events after f.After that match f, in the order of their ids; at most f.Limit (0: 500).
func (db *logStore) Events(ctx context.Context, f event.Filter) ([]event.Event, error) {
	var types any // nil is NULL: all types
	if len(f.Types) > 0 {
		types = storableTexts(f.Types)
	}
	return list[event.Event](ctx, db, fmt.Sprintf("events after %d", f.After), listEvents,
		f.After, types, f.AgentID, f.HandoffID, f.PipelineID, limitOr(f.Limit, 500))
}

// lastEventID also considers pruned events, so that the id does not become smaller when the newest event is pruned.
const lastEventID = `SELECT GREATEST(pruned_to, (SELECT max(id) FROM events)) FROM log_floor`

// LastEventID returns the id of the newest event, or 0 if there has never been an event.
func (db *logStore) LastEventID(ctx context.Context) (int64, error) {
	var id int64
	if err := db.poolFor(ctx).QueryRow(ctx, lastEventID).Scan(&id); err != nil {
		return 0, fmt.Errorf("last event: %w", unavailable(err))
	}
	return id, nil
}

// listPendingAlerts orders notices in rounds: first the oldest notice of each agent (or of each pipeline, for notices
// without an agent), then the second oldest of each, and so on. So the notices of one agent cannot fill the limit alone.
const listPendingAlerts = selectEvents + `
	WHERE (alert OR notice <> '') AND alerted_at IS NULL AND host = $1
	ORDER BY alert DESC, CASE WHEN alert THEN 0
	         ELSE row_number() OVER (PARTITION BY alert, COALESCE(agent_id, -pipeline_id) ORDER BY id) END, id
	LIMIT $2`

// PendingAlerts returns the host's alerts and notices that [DB.MarkAlerted] has not marked, at most limit (0: 100).
// First come the alerts, in the order of their ids. Then come the notices, in rounds with one of each agent or pipeline.
func (db *logStore) PendingAlerts(ctx context.Context, host string, limit int) ([]event.Event, error) {
	return list[event.Event](ctx, db, "pending alerts", listPendingAlerts, host, limitOr(limit, 100))
}

const markAlerted = `UPDATE events SET alerted_at = $2 WHERE id = ANY($1) AND (alert OR notice <> '') AND alerted_at IS NULL`

// MarkAlerted marks the events with these ids as reported to the operator. It appends the event told, which may be
// nil, and stores the pushes. If one of the ids is not pending, MarkAlerted returns [daemon.ErrMoved] and writes nothing.
func (db *logStore) MarkAlerted(ctx context.Context, ids []int64, told *event.Event, pushes ...tell.Push) error {
	return commitError(db.commit(ctx, &daemon.Change{Events: told.List()}, func(_ pgx.Tx, w *write) error {
		w.batch.Queue(markAlerted, ids, w.at).Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() != int64(len(ids)) {
				return fmt.Errorf("alerts %v: %w", ids, daemon.ErrMoved)
			}
			return nil
		})
		err := w.pushes(pushes)
		w.events()
		return err
	}))
}
