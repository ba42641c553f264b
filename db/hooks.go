package db

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/storetext"
)

// hookAttempts allows RecordHook to lose two races: one for the hook's key, and one for the row of an agent that
// registers by itself. At the next attempt it finds the row of the writer that won.
const hookAttempts = 3

// RecordHook stores a hook and the change that decide returns, in one transaction. It passes decide the rows that the
// transaction has locked. decide must not block, and must not keep these rows: after a lost race RecordHook calls
// decide again with fresh rows.
func (db *rowStore) RecordHook(
	ctx context.Context, in daemon.HookInput, decide func(daemon.HookTx) daemon.HookDecision,
) (daemon.HookResult, error) {
	var err error
	for range hookAttempts {
		h := hook{in: in}
		err = pgx.BeginTxFunc(ctx, db.pool, readCommitted, func(tx pgx.Tx) error { return h.record(ctx, tx, decide) })
		if err == nil {
			h.write.copyBack()
			return h.result, nil
		}
		if !violates(err, "hook_events_key_key", "agents_process") {
			break
		}
	}
	return daemon.HookResult{}, fmt.Errorf("hook %s %s: %w", in.Event, in.Key, commitError(err))
}

// hook is a hook on its way through one transaction.
type hook struct {
	in     daemon.HookInput
	tx     daemon.HookTx
	write  *write
	result daemon.HookResult
}

func (h *hook) record(ctx context.Context, tx pgx.Tx, decide func(daemon.HookTx) daemon.HookDecision) error {
	if err := h.find(ctx, tx); err != nil {
		return err
	}
	if err := h.lock(ctx, tx); err != nil {
		return err
	}
	d := decide(h.tx)
	if d.Undone != nil {
		return d.Undone
	}
	h.write = newWrite(&d.Change)
	if h.tx.Again {
		h.again(d)
	} else {
		h.first(d)
	}
	return h.write.send(ctx, tx)
}

const selectHook = `SELECT id AS hook_id, COALESCE(agent_id, 0) AS agent_id, applied, reason, true AS again, output
	FROM hook_events WHERE key = $1`

// find looks for a stored hook with this key. If there is one, it sets h.result, and Again in h.tx.
func (h *hook) find(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, selectHook, storetext.Text(h.in.Key))
	if err != nil {
		return err
	}
	h.result, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[daemon.HookResult])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	h.tx.HookID, h.tx.Again = h.result.HookID, true
	return err
}

// The method lockAgent executes one of these statements. FOR NO KEY UPDATE blocks other writers of the row, but not
// the foreign keys of new rows; see the package comment.
const (
	lockAgent          = selectAgents + `WHERE id = $1 FOR NO KEY UPDATE`
	lockAgentByLaunch  = selectAgents + `WHERE launch_hash = $1 FOR NO KEY UPDATE`
	lockAgentByProcess = selectAgents + `
		WHERE host = $1 AND pid = $2 AND pid_start = $3 AND pid > 0 AND ended_at IS NULL AND NOT managed
		FOR NO KEY UPDATE`
	lockAgentBySession = selectAgents + `
		WHERE host = $1 AND session_id = $2 AND NOT managed ORDER BY id DESC LIMIT 1
		FOR NO KEY UPDATE`
)

const (
	lockOpenHandoff = selectHandoffs + `
		WHERE agent_id = $1 AND phase NOT IN ('completed', 'failed', 'cancelled')
		FOR NO KEY UPDATE`
	lockOpenDeliveries = selectDeliveries + `
		WHERE agent_id = $1 AND state <> 'done' ORDER BY id
		FOR NO KEY UPDATE`
)

const nextHookID = `SELECT nextval(pg_get_serial_sequence('hook_events', 'id'))`

// lock finds and locks the hook's agent, then the agent's open handoff and open deliveries. It uses separate
// statements, so that each one sees the rows that others committed while the statement before it waited for a lock.
// lock draws the hook's id under the agent's lock, so an agent's hooks are applied in the order of their ids.
func (h *hook) lock(ctx context.Context, tx pgx.Tx) error {
	agents, err := h.lockAgent(ctx, tx)
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	var batch pgx.Batch
	if len(agents) > 0 {
		h.tx.Agent = agents[0]
		h.lockOpen(&batch)
	} else if !h.tx.Again {
		batch.Queue(nextID, string(daemon.AgentIDs)).QueryRow(into(&h.tx.NewAgentID))
	}
	if !h.tx.Again {
		batch.Queue(nextHookID).QueryRow(into(&h.tx.HookID))
	}
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("open rows: %w", err)
	}
	return nil
}

// lockOpen queues the locks of the agent's open handoff and open deliveries.
func (h *hook) lockOpen(batch *pgx.Batch) {
	batch.Queue(lockOpenHandoff, h.tx.Agent.ID).Query(func(rows pgx.Rows) error {
		open, err := pgx.CollectRows(rows, scanAddr[daemon.Handoff])
		if len(open) > 0 {
			h.tx.Handoff = open[0]
		}
		return err
	})
	batch.Queue(lockOpenDeliveries, h.tx.Agent.ID).Query(func(rows pgx.Rows) (err error) {
		h.tx.Deliveries, err = pgx.CollectRows(rows, scanAddr[daemon.Delivery])
		return err
	})
}

// into returns a function that scans a row's only column into dst.
func into(dst any) func(pgx.Row) error {
	return func(row pgx.Row) error { return row.Scan(dst) }
}

// lockAgent returns the hook's agent, or an empty list.
func (h *hook) lockAgent(ctx context.Context, tx pgx.Tx) ([]*daemon.Agent, error) {
	in := h.in
	var rows pgx.Rows
	var err error
	switch {
	case h.tx.Again:
		rows, err = tx.Query(ctx, lockAgent, h.result.AgentID)
	case in.LaunchHash != nil:
		rows, err = tx.Query(ctx, lockAgentByLaunch, in.LaunchHash)
	case in.PID > 0 && in.PIDStart > 0:
		rows, err = tx.Query(ctx, lockAgentByProcess, in.Host, in.PID, in.PIDStart)
	case in.SessionID != "":
		rows, err = tx.Query(ctx, lockAgentBySession, in.Host, storetext.Text(in.SessionID))
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanAddr[daemon.Agent])
}

const insertHook = `INSERT INTO hook_events
	(id, key, host, agent_id, event, session_id, payload, output, applied, reason, replayed, at, received_at)
	VALUES ($1, $2, $3, NULLIF($4, 0), $5, $6, $7, $8, $9, $10, $11, $12, $13)`

// first queues the row of a hook that is not stored yet, and the change in d.
func (h *hook) first(d daemon.HookDecision) {
	h.result = daemon.HookResult{HookID: h.tx.HookID, Applied: d.Applied, Reason: d.Reason, Output: d.Output}
	switch {
	case h.tx.Agent != nil:
		h.result.AgentID = h.tx.Agent.ID
	case d.Change.NewAgent != nil:
		h.result.AgentID = d.Change.NewAgent.ID
	}
	var output any // nil is NULL
	if d.Output != nil {
		output = storetext.JSON(d.Output)
	}
	at := h.in.At
	if at.IsZero() {
		at = h.write.at
	}
	h.write.rows()
	h.write.batch.Queue(insertHook, storable(h.tx.HookID, h.in.Key, h.in.Host, h.result.AgentID, h.in.Event, h.in.SessionID,
		storetext.JSON(h.in.Body), output, d.Applied, d.Reason, h.in.Replayed, at, h.write.at)...)
	h.write.wake()
	h.write.events()
}

const markReplayed = `UPDATE hook_events SET replayed = true WHERE id = $1`

// again queues the change in d for a hook that is stored already. In the hook's row it sets only replayed, and only
// if there is a change.
func (h *hook) again(d daemon.HookDecision) {
	if d.Output != nil {
		h.result.Output = d.Output
	}
	if reflect.ValueOf(d.Change).IsZero() {
		return
	}
	h.write.rows()
	h.write.batch.Queue(markReplayed, h.tx.HookID)
	h.write.wake()
	h.write.events()
}

const selectStoredHook = `SELECT event, payload AS body, received_at FROM hook_events WHERE id = $1`

// StoredHook returns the stored hook with this id. If there is none, the error is [daemon.ErrNotFound]. The body is
// the JSON that the hook sent, but its bytes may differ.
func (db *rowStore) StoredHook(ctx context.Context, hookID int64) (daemon.StoredHook, error) {
	return one[daemon.StoredHook](ctx, db, fmt.Sprintf("hook %d", hookID), selectStoredHook, hookID)
}
