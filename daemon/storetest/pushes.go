package storetest

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
)

// pushIsClaimedOnce: of the daemons that want to send a push one claims it. An event comes with its move, or not at all.
func pushIsClaimedOnce(t *testing.T, st daemon.Store) {
	alert := &event.Event{Type: "t", Host: "h1", Alert: true}
	Commit(t, st, &daemon.Change{Events: []*event.Event{alert}})
	if err := st.MarkAlerted(t.Context(), []int64{alert.ID}, nil, tell.Push{Host: "h1", Target: "phone", Key: "a", NextAt: now()}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var claimed atomic.Int64
	for range 8 {
		p := result(st.OpenPushes(t.Context(), "h1", "phone"))(t)[0]
		p.State, p.Attempts = tell.PushSending, 1
		wg.Go(func() {
			moved, err := st.MovePush(t.Context(), &p, tell.PushPending, 0, &event.Event{Type: "t", Host: "h1"})
			if err != nil {
				t.Error(err)
			}
			if moved {
				claimed.Add(1)
			}
		})
	}
	wg.Wait()
	if n := len(events(t, st)); claimed.Load() != 1 || n != 2 {
		t.Errorf("claimed %d times, %d events", claimed.Load(), n)
	}
	next := &event.Event{Type: "t", Host: "h1"}
	Commit(t, st, &daemon.Change{Events: []*event.Event{next}})
	equal(t, "the id after eight claims, of which each took one", next.ID, alert.ID+9)
}
