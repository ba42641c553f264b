package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// Compare draws steps from a seed (changes, hooks, pruning, questions) and takes each on both stores, which
// must hold the same before. It fails where one answers differently from the other, and where they do not
// hold the same in the end. What is drawn depends on what model holds, which is read often.
func Compare(t *testing.T, seed uint64, steps int, model, other daemon.Store) {
	t.Helper()
	var trace []string
	for n := range steps {
		a, b := drawStep(t, seed, n, model), drawStep(t, seed, n, model)
		trace = append(trace, fmt.Sprintf("%3d %s", n, a.what))
		got, want := take(t, a, model), take(t, b, other)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d, step %d differs:\nmodel %s\nother %s\nafter\n%s", seed, n, difference(got, want), difference(want, got), strings.Join(trace, "\n"))
		}
		trace[n] += ": " + got.Err
	}
	got, want := timeless(everything(t, model)), timeless(everything(t, other))
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("seed %d: the stores hold different rows:\nmodel %s\nother %s\nafter\n%s", seed, difference(got, want), difference(want, got), strings.Join(trace, "\n"))
	}
}

// step is something that is done to a store.
type step struct {
	what string
	// do returns everything that the caller gets to see, also by what it has given.
	do func(t testing.TB, st daemon.Store) (seen any, err error)
}

// outcome is what came of a step.
type outcome struct {
	Seen any
	Err  string
}

func take(t testing.TB, s step, st daemon.Store) outcome {
	t.Helper()
	seen, err := s.do(t, st)
	return outcome{Seen: timeless(seen), Err: errorClass(err)}
}

var constraintName = regexp.MustCompile(`constraint "(\w+)"`)

// errorClass is what callers can tell of an error, and the constraint that a change would have violated.
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
	return "an error"
}

// drawnUntil is later than every time that is drawn. Later times are those of the stores' own clocks, which
// are read a moment after each other.
var drawnUntil = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// timeless replaces the times of the stores' clocks by one of them, in place of a copy of v.
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

// difference is the part of a that b does not have: the first field on the way down that is not equal.
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

// drawer draws rows. What it draws depends on its seed and on what the model holds alone.
type drawer struct {
	t     testing.TB
	rand  *rand.Rand
	model daemon.Store
	step  int
	drawn int // how much, so that what must be unique is

	agents     []daemon.Agent
	handoffs   []daemon.Handoff
	deliveries []daemon.Delivery
	runs       []daemon.Pipeline
	events     []daemon.Event
}

func drawStep(t testing.TB, seed uint64, n int, model daemon.Store) step {
	t.Helper()
	d := &drawer{t: t, rand: rand.New(rand.NewPCG(seed, uint64(n))), model: model, step: n}
	ctx := t.Context()
	d.agents = result(model.Agents(ctx, daemon.AgentFilter{Limit: all}))(t)
	d.handoffs = result(model.Handoffs(ctx, daemon.HandoffFilter{Limit: all}))(t)
	for _, a := range d.agents {
		d.deliveries = append(d.deliveries, result(model.Deliveries(ctx, a.ID, 0, all))(t)...)
	}
	d.runs = result(model.Pipelines(ctx, daemon.PipelineFilter{Limit: all}))(t)
	d.events = result(model.Events(ctx, daemon.EventFilter{Limit: all}))(t)
	switch draw := d.rand.IntN(20); {
	case draw < 10:
		return d.commit()
	case draw < 13:
		return d.hook()
	case draw < 14:
		return d.mark()
	case draw < 15:
		return d.prefer()
	case draw < 16:
		return d.prune()
	}
	return d.question()
}

// mostly is true but for one time of thirty: what is drawn makes sense mostly, and now and then it is nonsense.
func (d *drawer) mostly() bool { return d.rand.IntN(30) > 0 }

// half is true every other time.
func (d *drawer) half() bool { return d.rand.IntN(2) == 0 }

// one draws one of several.
func one[T any](d *drawer, of ...T) T { return of[d.rand.IntN(len(of))] }

// maybe draws a value, or none.
func maybe[T any](d *drawer, v T) *T {
	if d.half() {
		return nil
	}
	return &v
}

// unique is a number that is drawn once only.
func (d *drawer) unique() int {
	d.drawn++
	return d.step*1000 + d.drawn
}

// at draws a time that no other is equal to, also in microseconds. Its nanoseconds are not kept.
func (d *drawer) at() time.Time {
	t := drawnUntil.Add(-time.Duration(1+d.rand.IntN(1000)) * time.Hour)
	return t.Add(time.Duration(d.unique()) * time.Microsecond).Add(time.Duration(d.rand.IntN(1000)))
}

// id draws the id of one of the rows, or of none.
func id[T any](d *drawer, rows []T, of func(*T) int64) int64 {
	if len(rows) == 0 || !d.mostly() {
		return 999
	}
	return of(&rows[d.rand.IntN(len(rows))])
}

func (d *drawer) agentID() int64 {
	return id(d, d.agents, func(a *daemon.Agent) int64 { return a.ID })
}

func (d *drawer) handoffID() int64 {
	return id(d, d.handoffs, func(h *daemon.Handoff) int64 { return h.ID })
}

func (d *drawer) deliveryID() int64 {
	return id(d, d.deliveries, func(x *daemon.Delivery) int64 { return x.ID })
}

func (d *drawer) runID() int64 {
	return id(d, d.runs, func(p *daemon.Pipeline) int64 { return p.ID })
}

func (d *drawer) eventID() int64 {
	return id(d, d.events, func(e *daemon.Event) int64 { return e.ID })
}
