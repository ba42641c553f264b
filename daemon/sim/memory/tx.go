package memory

import (
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// violation is a constraint of the schema that a change would break.
type violation string

func (v violation) Error() string { return fmt.Sprintf("constraint %q is violated", string(v)) }

// named translates the constraints that callers branch on, and names the failed commit.
func named(err error) error {
	switch {
	case errors.Is(err, violation("handoffs_one_per_agent")):
		err = daemon.ErrOpenHandoff
	case errors.Is(err, violation("handoffs_file_path_key")): // two requests of one second chose the same document
		err = daemon.ErrMoved
	case errors.Is(err, violation("step_handoffs_step_id_key")): // somebody else has seen the step's end
		err = daemon.ErrMoved
	}
	return fmt.Errorf("commit: %w", err)
}

// tx is one transaction. Its statements are its methods; they return the constraint that they would
// violate, with which the transaction ends at once. A guard that does not hold ends it as well, but not
// before the other statements were carried out: all of them are on their way to the database together.
type tx struct {
	*Store
	c      *daemon.Change
	at     time.Time
	undo   []func() // last first
	done   []func() // to be called once the commit has succeeded
	failed error    // the first guard that did not hold
}

func (s *Store) begin(c *daemon.Change) *tx { return &tx{Store: s, c: c, at: s.now()} }

// refuse notes that a guard does not hold.
func (t *tx) refuse(err error) {
	if t.failed == nil {
		t.failed = err
	}
}

// end commits or undoes what the statements did, of which err is the last one's result.
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

// deferred checks the one constraint that is looked at when a transaction ends: a handoff is written before
// the delivery that it waits for.
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

// write has a row stand under id, nil: none, until the transaction is undone.
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

// check returns the first constraint that does not hold. They come in pairs of a name and whether it holds.
func check(pairs ...any) error {
	for i := 0; i < len(pairs); i += 2 {
		if !pairs[i+1].(bool) {
			return violation(pairs[i].(string))
		}
	}
	return nil
}
