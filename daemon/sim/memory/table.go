package memory

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/understudyd/understudy/daemon"
)

// table holds rows in the order of their ids. A write replaces a row and never changes it.
type table[T any] struct{ rows []entry[T] }

type entry[T any] struct {
	id  int64
	row *T
}

func (t *table[T]) find(id int64) (int, bool) {
	return slices.BinarySearchFunc(t.rows, id, func(e entry[T], id int64) int { return cmp.Compare(e.id, id) })
}

// copied returns a table of the same rows.
func (t *table[T]) copied() table[T] { return table[T]{slices.Clone(t.rows)} }

// get returns a row, or nil if there is none.
func (t *table[T]) get(id int64) *T {
	if i, ok := t.find(id); ok {
		return t.rows[i].row
	}
	return nil
}

// put stores row under id, or deletes the row there if row is nil. It returns the row that was there before.
func (t *table[T]) put(id int64, row *T) (before *T) {
	i, ok := t.find(id)
	switch {
	case ok && row == nil:
		before = t.rows[i].row
		t.rows = slices.Delete(t.rows, i, i+1)
	case ok:
		before, t.rows[i].row = t.rows[i].row, row
	case row != nil:
		t.rows = slices.Insert(t.rows, i, entry[T]{id, row})
	}
	return before
}

// all iterates over the rows in the order of their ids.
func (t *table[T]) all() iter.Seq2[int64, *T] {
	return func(yield func(int64, *T) bool) {
		for _, e := range t.rows {
			if !yield(e.id, e.row) {
				return
			}
		}
	}
}

// snapshot iterates over the rows that the table has now. The caller may delete rows meanwhile.
func (t *table[T]) snapshot() iter.Seq2[int64, *T] {
	now := t.copied()
	return now.all()
}

// newest iterates over the rows from the last id back.
func (t *table[T]) newest() iter.Seq2[int64, *T] {
	return func(yield func(int64, *T) bool) {
		for _, e := range slices.Backward(t.rows) {
			if !yield(e.id, e.row) {
				return
			}
		}
	}
}

// after iterates over the rows with ids greater than id, in order.
func (t *table[T]) after(id int64) iter.Seq2[int64, *T] {
	i, ok := t.find(id)
	if ok {
		i++
	}
	return (&table[T]{t.rows[i:]}).all()
}

// any reports whether is accepts a row other than the one of id.
func (t *table[T]) any(id int64, is func(*T) bool) bool {
	return slices.ContainsFunc(t.rows, func(e entry[T]) bool { return e.id != id && is(e.row) })
}

// has reports whether a reference holds: id is nil, or there is a row with it.
func (t *table[T]) has(id *int64) bool { return id == nil || t.get(*id) != nil }

// one returns the row with an id, after derive if that is not nil; [daemon.ErrNotFound] for an unknown id. what names
// the call.
func one[T any](ctx context.Context, s *view, rows *table[T], id int64, what string, derive func(*T)) (found T, err error) {
	leave, err := s.enter(ctx, what, id)
	if err != nil {
		return found, err
	}
	defer leave()
	row := rows.get(id)
	if row == nil {
		return found, fmt.Errorf(what+": %w", id, daemon.ErrNotFound)
	}
	found = answer(s, row)
	if derive != nil {
		derive(&found)
	}
	return found, nil
}

// answer returns a row in the form in which the store gives it to a caller.
func answer[T any](s *view, row *T) T {
	if s.lends {
		return *row
	}
	return clone(*row)
}

// collect returns the rows that is accepts, in the form in which the store gives them to a caller: at most limit (-1
// for no limit), never nil.
func collect[T any](s *view, rows iter.Seq2[int64, *T], limit int, is func(*T) bool) []T {
	out := []T{}
	for _, row := range rows {
		if len(out) == limit {
			break
		}
		if is(row) {
			out = append(out, *row)
		}
	}
	if !s.lends {
		for i := range out {
			separate(reflect.ValueOf(&out[i]).Elem())
		}
	}
	return out
}
