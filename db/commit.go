package db

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/storetext"
)

// readCommitted lets a transaction that waited for a row see what the row's last writer committed.
var readCommitted = pgx.TxOptions{IsoLevel: pgx.ReadCommitted}

// Commit writes c in one transaction. After an error nothing is written, unless the connection broke during COMMIT:
// then the outcome is unknown. Errors that callers branch on:
//   - [daemon.ErrMoved]: another writer changed a row first.
//   - [daemon.ErrOpenHandoff]: the agent already has an open handoff, and may have only one.
//   - [daemon.ErrNoRoom]: more than c.Admit pipelines would run, or an older pipeline waits.
//
// After the transaction has succeeded, Commit updates the rows that c points to: Rev, Seq, Status, event ids and times.
func (db *rowStore) Commit(ctx context.Context, c *daemon.Change) error {
	return commitError(db.commit(ctx, c, func(_ pgx.Tx, w *write) error {
		w.rows()
		w.wake()
		w.events()
		return nil
	}))
}

// commit sends in one transaction what queue queues, and then updates the rows that c points to.
func (db *pools) commit(ctx context.Context, c *daemon.Change, queue func(tx pgx.Tx, w *write) error) error {
	w := newWrite(c)
	err := pgx.BeginTxFunc(ctx, db.pool, readCommitted, func(tx pgx.Tx) error {
		if err := queue(tx, w); err != nil {
			return err
		}
		return w.send(ctx, tx)
	})
	if err == nil {
		w.copyBack()
	}
	return err
}

// commitError wraps the error of a transaction, and translates the constraints that callers branch on.
func commitError(err error) error {
	switch {
	case err == nil:
		return nil
	case violates(err, "handoffs_one_per_agent"):
		err = daemon.ErrOpenHandoff
	case violates(err, "handoffs_file_path_key"): // two requests within one second chose the same document
		err = daemon.ErrMoved
	case violates(err, "step_handoffs_step_id_key"): // another writer recorded the step's end first
		err = daemon.ErrMoved
	}
	return fmt.Errorf("commit: %w", unavailable(err))
}

// write is a change on its way through one transaction. It sends its statements in one batch, so that
// a commit takes three round trips, however many rows it writes.
type write struct {
	*daemon.Change
	at    time.Time
	batch pgx.Batch
	done  []func() // copyBack calls these after the commit has succeeded
}

func newWrite(c *daemon.Change) *write {
	return &write{Change: c, at: time.Now().UTC().Truncate(time.Microsecond)}
}

// rows queues the writes of all rows except events, in the order in which the package locks rows.
func (w *write) rows() {
	w.admit()
	w.newWorktree()
	for _, a := range sortedBy(w.Agents, func(a *daemon.Agent) int64 { return a.ID }) {
		next := *a
		next.Rev++
		w.guarded(fmt.Sprintf("agent %d", a.ID), updateAgent, append(agentValues(&next), a.Rev)...)
		w.done = append(w.done, func() { a.Rev = next.Rev })
	}
	if a := w.NewAgent; a != nil {
		w.batch.Queue(insertAgent, agentValues(a)...)
	}
	if h := w.NewHandoff; h != nil {
		w.statusOf(h, insertHandoff, handoffValues(h)...)
		w.heirs(h)
	}
	if w.Move != nil {
		w.move(w.Move)
	}
	if w.NewRecord != nil {
		w.record(w.NewRecord)
	}
	w.deliveries()
	w.permissions()
	w.worktrees()
	w.pipelines()
	w.sources()
	w.samples()
}

// move queues a handoff's update, and its transition if the phase changed.
func (w *write) move(m *daemon.Move) {
	h := m.Handoff
	next := *h
	next.Seq++
	w.statusOf(h, updateHandoff, append(handoffValues(&next), m.From, h.Seq)...)
	w.heirs(h)
	w.done = append(w.done, func() { h.Seq = next.Seq })
	if m.From != h.Phase {
		w.batch.Queue(insertTransition, storable(h.ID, next.Seq, m.From, h.Phase, m.Cause, h.PhaseAt)...)
	}
}

// deliveries queues the writes of deliveries. It drops the agent's queued deliveries before it inserts new ones:
// otherwise dropQueued would drop the new ones as well.
func (w *write) deliveries() {
	sorted := sortedBy(w.Deliveries, func(d *daemon.Delivery) int64 { return d.ID })
	if w.DropQueued != 0 {
		ids := make([]int64, len(sorted))
		for i, d := range sorted {
			ids[i] = d.ID
		}
		w.batch.Queue(lockDeliveries, ids, w.DropQueued)
	}
	for _, d := range sorted {
		next := *d
		next.Rev++
		w.guarded(fmt.Sprintf("delivery %d", d.ID), updateDelivery, append(deliveryValues(&next), d.Rev)...)
		w.done = append(w.done, func() { d.Rev = next.Rev })
	}
	if w.DropQueued != 0 {
		w.batch.Queue(dropQueued, w.DropQueued, w.DropEvidence, w.DropEvidence.Words(), w.at, w.SpareMessages)
	}
	for _, d := range w.NewDeliveries {
		w.batch.Queue(insertDelivery, deliveryValues(d)...)
	}
}

// guarded queues an update that fails with [daemon.ErrMoved] if the row has changed since it was read.
func (w *write) guarded(what, sql string, args ...any) {
	w.batch.Queue(sql, args...).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() == 0 {
			return fmt.Errorf("%s: %w", what, daemon.ErrMoved)
		}
		return nil
	})
}

// statusOf queues a handoff's insert or guarded update, which returns the status that the database
// derives from the phase.
func (w *write) statusOf(h *daemon.Handoff, sql string, args ...any) {
	var status daemon.Status
	w.batch.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, pgx.RowTo[daemon.Status])
		if err != nil {
			return fmt.Errorf("handoff %d: %w", h.ID, err)
		}
		if len(found) == 0 {
			return fmt.Errorf("handoff %d: %w", h.ID, daemon.ErrMoved)
		}
		status = found[0]
		return nil
	})
	w.done = append(w.done, func() { h.Status = status })
}

// notifyWake tells each agent's host that its lane may have work. PostgreSQL delivers equal notifications
// of one transaction once, after the commit.
const notifyWake = `SELECT pg_notify('understudy_wake', host || ' ' || id) FROM agents WHERE id = ANY($1)`

// wake queues the wake-ups of the agents and the pipelines that the change writes.
func (w *write) wake() {
	touched := map[int64]bool{}
	if w.NewAgent != nil {
		touched[w.NewAgent.ID] = true
	}
	for _, a := range w.Agents {
		touched[a.ID] = true
	}
	handoffs := []*daemon.Handoff{w.NewHandoff}
	if w.Move != nil {
		handoffs = append(handoffs, w.Move.Handoff)
	}
	for _, h := range handoffs {
		if h == nil {
			continue
		}
		touched[h.AgentID] = true
		for _, id := range h.SuccessorIDs() {
			touched[id] = true
		}
	}
	for _, d := range slices.Concat(w.Deliveries, w.NewDeliveries) {
		touched[d.AgentID] = true
	}
	if w.DropQueued != 0 {
		touched[w.DropQueued] = true
	}
	if len(touched) > 0 {
		w.batch.Queue(notifyWake, slices.Sorted(maps.Keys(touched)))
	}
	for _, p := range w.Change.Pipelines() {
		w.batch.Queue(notifyPipelineWake, p.ID)
	}
}

// send executes the queued statements. If none is queued, it makes no round trip.
func (w *write) send(ctx context.Context, tx pgx.Tx) error {
	if w.batch.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, &w.batch).Close()
}

// copyBack updates the caller's rows, to which the change points. It is for after the commit.
func (w *write) copyBack() {
	for _, f := range w.done {
		f()
	}
}

// sortedBy returns the rows in the order of their ids.
func sortedBy[T any](rows []*T, id func(*T) int64) []*T {
	return slices.SortedFunc(slices.Values(rows), func(a, b *T) int { return cmp.Compare(id(a), id(b)) })
}

// notifyEvents tells listeners that there are new events. It does not name them, because readers ask for the events
// after their last id.
const notifyEvents = `SELECT pg_notify('understudy_events', '')`

// lockEvents takes the event lock. A transaction takes it before it draws its event ids, and holds it until its rows
// are visible, so event ids are in the order of the commits. lockEvents is a separate statement, because a
// transaction may draw ids only while it holds the lock.
const lockEvents = `SELECT pg_advisory_xact_lock(1970500729, 1)`

const insertEvents = `
	INSERT INTO events (type, at, host, agent_id, handoff_id, pipeline_id, step_id, payload, alert, notice, cause)
	SELECT type, at, host, agent_id, handoff_id, pipeline_id, step_id, payload::jsonb, alert, notice, cause
	FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[],
	            $7::bigint[], $8::text[], $9::boolean[], $10::text[], $11::text[])
	     WITH ORDINALITY AS e (type, at, host, agent_id, handoff_id, pipeline_id, step_id, payload, alert, notice, cause, n)
	ORDER BY n
	RETURNING id`

// events queues the events. Call it last: while later statements ran, other writers would wait for the event lock.
func (w *write) events() {
	if len(w.Events) == 0 {
		return
	}
	n := len(w.Events)
	types, hosts, payloads := make([]string, n), make([]string, n), make([]string, n)
	notices, causes := make([]string, n), make([]string, n)
	at, alerts := make([]time.Time, n), make([]bool, n)
	agents, handoffs, pipelines, steps := make([]*int64, n), make([]*int64, n), make([]*int64, n), make([]*int64, n)
	for i, e := range w.Events {
		types[i], hosts[i], payloads[i] = string(e.Type), e.Host, string(storetext.JSON(e.Payload))
		at[i], alerts[i], notices[i], causes[i] = e.At, e.Alert, string(e.Notice), e.Cause
		if e.At.IsZero() {
			at[i] = w.at
		}
		agents[i], handoffs[i], pipelines[i], steps[i] = e.AgentID, e.HandoffID, e.PipelineID, e.StepID
	}
	w.batch.Queue(notifyEvents)
	w.batch.Queue(lockEvents)
	args := storable(types, at, hosts, agents, handoffs, pipelines, steps, payloads, alerts, notices, causes)
	w.batch.Queue(insertEvents, args...).Query(func(rows pgx.Rows) error {
		ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return fmt.Errorf("events: %w", err)
		}
		w.done = append(w.done, func() {
			for i, e := range w.Events {
				e.ID, e.At = ids[i], at[i]
			}
		})
		return nil
	})
}
