package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// readerMissesNothing: writers commit in any order while a reader asks for the events after the last id that it
// saw. The reader gets every event.
func readerMissesNothing(t *testing.T, st daemon.Store) {
	const writers, each = 16, 30
	var agents []*daemon.Agent
	for range writers {
		agents = append(agents, NewAgent(t, st, nil))
	}
	var wg sync.WaitGroup
	for w, a := range agents {
		wg.Go(func() {
			for i := range each {
				numbered := func(n int) *event.Event {
					return &event.Event{Type: event.Type(fmt.Sprintf("%d.%d", w, n)), Host: "h1"}
				}
				c := &daemon.Change{Agents: []*daemon.Agent{a}, Events: []*event.Event{numbered(2 * i), numbered(2*i + 1)}}
				if err := st.Commit(t.Context(), c); err != nil {
					t.Error(err)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() { wg.Wait(); close(written) }()
	defer func() { <-written }() // the reader sees the last events before their writer hears that they are committed
	next := make(map[string]int, writers)
	var last int64
	for n, done := 0, false; n < 2*writers*each; {
		events := result(st.Events(t.Context(), event.Filter{After: last, Limit: 50}))(t)
		for _, e := range events {
			var w, i int
			if _, err := fmt.Sscanf(string(e.Type), "%d.%d", &w, &i); err != nil {
				t.Fatal(err)
			}
			key := fmt.Sprint(w)
			if e.ID <= last || next[key] != i {
				t.Fatalf("event %d of writer %d after id %d, want its event %d", i, w, last, next[key])
			}
			next[key], last = i+1, e.ID
			n++
		}
		if len(events) == 0 && done {
			t.Fatalf("the reader saw %d events of %d", n, 2*writers*each)
		}
		select {
		case <-written:
			done = true
		default:
		}
	}
	equal(t, "last id", result(st.LastEventID(t.Context()))(t), last)
}

func alertsAreToldOnce(t *testing.T, st daemon.Store) {
	quiet := &event.Event{Type: "quiet", Host: "h1"}
	one := &event.Event{Type: "one", Host: "h1", Alert: true}
	two := &event.Event{Type: "two", Host: "h1", Alert: true}
	other := &event.Event{Type: "other", Host: "h2", Alert: true}
	Commit(t, st, &daemon.Change{Events: []*event.Event{quiet, one, two, other}})
	pending := func(limit int) []string {
		return typesOf(result(st.PendingAlerts(t.Context(), "h1", limit))(t))
	}
	equal(t, "pending", pending(0), []string{"one", "two"})
	equal(t, "pending, limited", pending(1), []string{"one"})

	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			errs[i] = st.MarkAlerted(t.Context(), []int64{one.ID}, &event.Event{Type: "operator_notified", Host: "h1"})
		})
	}
	wg.Wait()
	marked := 0
	for _, err := range errs {
		if err == nil {
			marked++
		} else if !errors.Is(err, daemon.ErrMoved) {
			t.Error(err)
		}
	}
	if n := len(events(t, st)); marked != 1 || n != 5 {
		t.Errorf("marked %d times, %d events", marked, n)
	}
	equal(t, "still pending", pending(0), []string{"two"})
	for _, id := range []int64{quiet.ID, 999} {
		if err := st.MarkAlerted(t.Context(), []int64{two.ID, id}, nil); !errors.Is(err, daemon.ErrMoved) {
			t.Errorf("event %d is no alert: %v", id, err)
		}
	}
	if err := st.MarkAlerted(t.Context(), []int64{two.ID}, nil); err != nil {
		t.Error(err)
	}
	equal(t, "none pending", pending(0), []string{})
}
