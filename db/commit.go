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
)

// readCommitted lets a transaction that waited for a row see what its holder made of it.
var readCommitted = pgx.TxOptions{IsoLevel: pgx.ReadCommitted}

// Commit carries out c in one transaction. [daemon.ErrMoved]: nothing was written, another writer
// was first. [daemon.ErrOpenHandoff]: the agent's one handoff exists already. [daemon.ErrNoRoom]: c.Admit
// would be exceeded, or an older run waits. The rows that c points to are updated (Rev, Seq, Status,
// event ids and times) only once the commit has succeeded.
func (db *DB) Commit(ctx context.Context, c *daemon.Change) error {
	w := newWrite(c)
	err := pgx.BeginTxFunc(ctx, db.pool, readCommitted, func(tx pgx.Tx) error {
		w.rows()
		w.wake()
		w.feed()
		return w.send(ctx, tx)
	})
	if err != nil {
		return commitError(err)
	}
	w.settle()
	return nil
}

// commitError names a failed transaction, and translates the constraints that callers branch on.
func commitError(err error) error {
	switch {
	case violates(err, "handoffs_one_per_agent"):
		err = daemon.ErrOpenHandoff
	case violates(err, "handoffs_file_path_key"): // two requests of one second chose the same document
		err = daemon.ErrMoved
	case violates(err, "step_handoffs_step_id_key"): // somebody else has seen the step's end
		err = daemon.ErrMoved
	}
	return fmt.Errorf("commit: %w", away(err))
}

// write is a change on its way through one transaction. Its statements travel in one batch, so that
// a commit takes three round trips however much it writes.
type write struct {
	*daemon.Change
	at    time.Time
	batch pgx.Batch
	done  []func() // to be called once the commit has succeeded
}

func newWrite(c *daemon.Change) *write {
	return &write{Change: c, at: time.Now().UTC().Truncate(time.Microsecond)}
}

// rows queues everything but the events, in the order in which rows are locked.
func (w *write) rows() {
	w.admit()
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
	}
	if w.Move != nil {
		w.move(w.Move)
	}
	if w.NewRecord != nil {
		w.record(w.NewRecord)
	}
	w.deliveries()
	w.pipelines()
}

// move queues a handoff's write, and its transition where the phase changed.
func (w *write) move(m *daemon.Move) {
	h := m.Handoff
	next := *h
	next.Seq++
	w.statusOf(h, updateHandoff, append(handoffValues(&next), m.From, h.Seq)...)
	w.done = append(w.done, func() { h.Seq = next.Seq })
	if m.From != h.Phase {
		w.batch.Queue(insertTransition, storable(h.ID, next.Seq, m.From, h.Phase, m.Cause, h.PhaseAt)...)
	}
}

// deliveries queues the writes of deliveries. Those that are dropped are dropped before new ones
// are there to be dropped with them.
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
		w.batch.Queue(dropQueued, storable(w.DropQueued, w.DropEvidence, w.at)...)
	}
	for _, d := range w.NewDeliveries {
		w.batch.Queue(insertDelivery, deliveryValues(d)...)
	}
}

// guarded queues an update that must meet its row as it was read.
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

// notifyWake tells each agent's host that there may be work for it. One transaction's equal
// notifications are delivered once, when it commits.
const notifyWake = `SELECT pg_notify('understudy_wake', host || ' ' || id) FROM agents WHERE id = ANY($1)`

// wake queues the wake-ups of the agents and the runs that the change is about.
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
		if h.SuccessorID != nil {
			touched[*h.SuccessorID] = true
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
	if runs := w.runs(); len(runs) > 0 {
		w.batch.Queue(notifyRunWake, idsOf(runs))
	}
}

// send executes what was queued. A batch without statements is no round trip.
func (w *write) send(ctx context.Context, tx pgx.Tx) error {
	if w.batch.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, &w.batch).Close()
}

// settle updates the rows that the change points to.
func (w *write) settle() {
	for _, f := range w.done {
		f()
	}
}

// sortedBy returns the rows in the order of their ids.
func sortedBy[T any](rows []*T, id func(*T) int64) []*T {
	return slices.SortedFunc(slices.Values(rows), func(a, b *T) int { return cmp.Compare(id(a), id(b)) })
}
