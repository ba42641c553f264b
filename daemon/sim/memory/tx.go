package memory

import (
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// violation is the name of a constraint of the schema that a change violates.
type violation string

func (v violation) Error() string { return fmt.Sprintf("constraint %q is violated", string(v)) }

// named turns a violation on which callers branch into the daemon's error, and adds that the commit failed.
func named(err error) error {
	switch {
	case errors.Is(err, violation("handoffs_one_per_agent")):
		err = daemon.ErrOpenHandoff
	case errors.Is(err, violation("handoffs_file_path_key")): // two requests in the same second chose the same document
		err = daemon.ErrMoved
	case errors.Is(err, violation("step_handoffs_step_id_key")): // another writer has stored the step's output
		err = daemon.ErrMoved
	}
	return fmt.Errorf("commit: %w", err)
}

// tx is one transaction. Its statements are its methods. A statement that would violate a constraint returns it, and
// the transaction ends at once. A guard that does not hold makes the transaction fail too, but only after the other
// statements, because PostgreSQL gets all of them together.
type tx struct {
	*rowStore
	c      *daemon.Change
	at     time.Time
	undo   []func() // called from the last to the first if the commit fails
	done   []func() // called if the commit succeeds
	failed error    // the first guard that did not hold
}

func (s *rowStore) begin(c *daemon.Change) *tx { return &tx{rowStore: s, c: c, at: s.now()} }

// refuse records that a guard does not hold.
func (t *tx) refuse(err error) {
	if t.failed == nil {
		t.failed = err
	}
}

// end commits the statements or undoes them. err is the result of the last statement.
func (t *tx) end(err error) error {
	if t.failed == nil && err == nil {
		err = t.deferred()
	}
	if t.failed != nil {
		err = t.failed
	}
	if err != nil {
		for i := len(t.undo) - 1; i >= 0; i-- {
			t.undo[i]()
		}
		return err
	}
	for _, f := range t.done {
		f()
	}
	return nil
}

// deferred checks the one constraint that PostgreSQL checks at the end of a transaction: the statements write a handoff
// before the delivery for which it waits.
func (t *tx) deferred() error {
	for _, h := range []*daemon.Handoff{t.c.NewHandoff, t.moved()} {
		if h != nil && !t.deliveries.has(h.DeliveryID) {
			return violation("handoffs_delivery_id_fkey")
		}
	}
	return nil
}

func (t *tx) moved() *daemon.Handoff {
	if t.c.Move == nil {
		return nil
	}
	return t.c.Move.Handoff
}

// write stores row under id (nil deletes it), and has the transaction restore the old row if it is undone.
func write[T any](t *tx, rows *table[T], id int64, row *T) {
	before := rows.put(id, row)
	t.undo = append(t.undo, func() { rows.put(id, before) })
}

// inOrder carries out statements until one violates a constraint.
func inOrder(statements ...func() error) error {
	for _, do := range statements {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// check returns the first violated constraint. pairs are the name of a constraint and whether it holds, in turn.
func check(pairs ...any) error {
	for i := 0; i < len(pairs); i += 2 {
		if !pairs[i+1].(bool) {
			return violation(pairs[i].(string))
		}
	}
	return nil
}
