package memory

import (
	"cmp"
	"iter"
	"reflect"
	"slices"
)

// table holds rows in the order of their ids. A row is never changed, but replaced.
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

// get returns a row; nil: there is none.
func (t *table[T]) get(id int64) *T {
	if i, ok := t.find(id); ok {
		return t.rows[i].row
	}
	return nil
}

// put has row stand under id, nil: no row. It returns what stood there before.
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

// all goes through the rows in the order of their ids.
func (t *table[T]) all() iter.Seq2[int64, *T] {
	return func(yield func(int64, *T) bool) {
		for _, e := range t.rows {
			if !yield(e.id, e.row) {
				return
			}
		}
	}
}

// snapshot goes through the rows that there are now, also while some of them go.
func (t *table[T]) snapshot() iter.Seq2[int64, *T] {
	now := t.copied()
	return now.all()
}

// newest goes through the rows from the last id back.
func (t *table[T]) newest() iter.Seq2[int64, *T] {
	return func(yield func(int64, *T) bool) {
		for _, e := range slices.Backward(t.rows) {
			if !yield(e.id, e.row) {
				return
			}
		}
	}
}

// after goes through the rows whose ids are greater than id, in order.
func (t *table[T]) after(id int64) iter.Seq2[int64, *T] {
	i, ok := t.find(id)
	if ok {
		i++
	}
	return (&table[T]{t.rows[i:]}).all()
}

// any reports whether a row other than that of id is as asked for.
func (t *table[T]) any(id int64, is func(*T) bool) bool {
	return slices.ContainsFunc(t.rows, func(e entry[T]) bool { return e.id != id && is(e.row) })
}

// has reports whether there is a row with an id that may be nil: that refers to nothing.
func (t *table[T]) has(id *int64) bool { return id == nil || t.get(*id) != nil }

// answer is a row as it is given out.
func answer[T any](s *Store, row *T) T {
	if s.lends {
		return *row
	}
	return clone(*row)
}

// collect returns the rows that are as asked for, as they are given out, at most limit, never nil.
func collect[T any](s *Store, rows iter.Seq2[int64, *T], limit int, is func(*T) bool) []T {
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
