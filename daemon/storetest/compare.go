package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// Compare draws actions from a seed (changes, hooks, pruning, lists) and carries out each on both stores. Both
// must hold the same rows before. The test fails if their answers to an action differ, or their rows in the end.
// The next action depends on the rows of model, which Compare reads often: pass the faster store as model.
func Compare(t *testing.T, seed uint64, actions int, model, other daemon.Store) {
	t.Helper()
	var trace []string
	for n := range actions {
		a, b := drawAction(t, seed, n, model), drawAction(t, seed, n, model)
		trace = append(trace, fmt.Sprintf("%3d %s", n, a.what))
		got, want := take(t, a, model), take(t, b, other)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d, action %d differs:\nmodel %s: %s\nother %s: %s\nafter\n%s", seed, n, got.Err, difference(got, want), want.Err, difference(want, got), strings.Join(trace, "\n"))
		}
		trace[n] += ": " + got.Err
	}
	got, want := timeless(everything(t, model)), timeless(everything(t, other))
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("seed %d: the stores hold different rows:\nmodel %s\nother %s\nafter\n%s", seed, difference(got, want), difference(want, got), strings.Join(trace, "\n"))
	}
}

// action is one call of a store, or a few that belong together.
type action struct {
	what string
	// do returns everything that the caller can see afterwards: the results, and the changes in its arguments.
	do func(t testing.TB, st daemon.Store) (seen any, err error)
}

// outcome is what a caller sees after an action.
type outcome struct {
	Seen any
	Err  string
}

func take(t testing.TB, a action, st daemon.Store) outcome {
	t.Helper()
	seen, err := a.do(t, st)
	if errorClass(err) == unknownError {
		t.Logf("%s: %v", a.what, err)
	}
	return outcome{Seen: timeless(seen), Err: errorClass(err)}
}

var constraintName = regexp.MustCompile(`constraint "(\w+)"`)

// unknownError stands for every error on which no caller branches.
const unknownError = "an error"

// errorClass returns the part of an error on which callers branch, or the constraint that the change violates.
func errorClass(err error) string {
	if err == nil {
		return "ok"
	}
	for _, known := range []error{daemon.ErrMoved, daemon.ErrNotFound, daemon.ErrOpenHandoff, daemon.ErrNoRoom} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if m := constraintName.FindStringSubmatch(err.Error()); m != nil {
		return m[1]
	}
	return unknownError
}

// drawnUntil is later than every drawn time. A later time comes from a store's own clock. The two stores read
// their clocks a moment apart, so such times differ.
var drawnUntil = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// timeless replaces every time of a store's clock in v by drawnUntil, and returns v.
func timeless[T any](v T) T {
	hideTimes(reflect.ValueOf(&v).Elem())
	return v
}

func hideTimes(v reflect.Value) {
	if at, ok := v.Interface().(time.Time); ok {
		if at.After(drawnUntil) && v.CanSet() {
			v.Set(reflect.ValueOf(drawnUntil))
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				hideTimes(v.Field(i))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			hideTimes(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			inner := reflect.New(v.Elem().Type()).Elem()
			inner.Set(v.Elem())
			hideTimes(inner)
			v.Set(inner)
		}
	case reflect.Slice:
		for i := range v.Len() {
			hideTimes(v.Index(i))
		}
	}
}

// difference returns the path and the value in a of the first field that is not equal in b.
func difference(a, b any) string {
	path, found := descend(reflect.ValueOf(a), reflect.ValueOf(b), "")
	return fmt.Sprintf("%s = %s", path, found)
}

func descend(a, b reflect.Value, path string) (string, string) {
	if a.IsValid() != b.IsValid() || !a.IsValid() || a.Type() != b.Type() {
		return path, text(a)
	}
	switch a.Kind() {
	case reflect.Struct:
		if a.Type() == reflect.TypeFor[time.Time]() {
			break
		}
		for i := range a.NumField() {
			if f := a.Type().Field(i); f.IsExported() && !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
				return descend(a.Field(i), b.Field(i), path+"."+f.Name)
			}
		}
	case reflect.Pointer, reflect.Interface:
		if !a.IsNil() && !b.IsNil() {
			return descend(a.Elem(), b.Elem(), path)
		}
	case reflect.Slice:
		if a.Len() != b.Len() {
			return path, fmt.Sprintf("%d of them: %s", a.Len(), text(a))
		}
		for i := range a.Len() {
			if !reflect.DeepEqual(a.Index(i).Interface(), b.Index(i).Interface()) {
				return descend(a.Index(i), b.Index(i), fmt.Sprintf("%s[%d]", path, i))
			}
		}
	}
	return path, text(a)
}

func text(v reflect.Value) string {
	if !v.IsValid() {
		return "nothing"
	}
	return fmt.Sprintf("%+v", v.Interface())
}
