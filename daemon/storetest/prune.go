package storetest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// logged returns the types of all events in the event log.
func logged(t *testing.T, st daemon.Store) string {
	t.Helper()
	return strings.Join(typesOf(events(t, st)), " ")
}

// pruneWith prunes events until the store finds none to prune, and returns how many it deleted.
func pruneWith(t *testing.T, st daemon.Store, l daemon.PruneLimits) (rows int64) {
	t.Helper()
	for {
		done := result(st.PruneEvents(t.Context(), l))(t)
		if done.Rows == 0 {
			return rows
		}
		rows += done.Rows
	}
}

func pruneEventsKeepsWhatIsNeeded(t *testing.T, st daemon.Store) {
	open1 := NewHandoff(t, st, NewAgent(t, st, nil).ID)
	ended := NewHandoff(t, st, NewAgent(t, st, nil).ID)
	from := ended.Phase
	ended.Phase, ended.CompletedAt = daemon.Cancelled, new(now())
	Commit(t, st, &daemon.Change{Move: &daemon.Move{Handoff: ended, From: from}})
	old, past := now().Add(-48*time.Hour), now().Add(-daemon.NeverPruned-time.Minute)
	alert := &event.Event{Type: "untold", At: old, Host: "h1", Alert: true}
	told := &event.Event{Type: "told", At: old, Host: "h1", Alert: true}
	Commit(t, st, &daemon.Change{Events: []*event.Event{
		{Type: "plain", At: old}, alert, told, {Type: "notice", At: old, Host: "h1", Notice: event.NoticeWaiting},
		{Type: "open", At: old, HandoffID: &open1.ID}, {Type: "ended", At: old, HandoffID: &ended.ID},
		{Type: "nowhere", At: old, HandoffID: new(int64(999)), PipelineID: new(int64(999))}, {Type: "fresh", At: past},
	}})
	if err := st.MarkAlerted(t.Context(), []int64{told.ID}, nil); err != nil {
		t.Fatal(err)
	}
	equal(t, "floor at first", result(st.LogFloor(t.Context()))(t), daemon.LogFloor{PrunedTo: 0, Oldest: 1})
	limits := daemon.PruneLimits{Before: now().Add(-24 * time.Hour), Max: 2}
	equal(t, "old ones", pruneWith(t, st, limits), int64(4))
	equal(t, "what is left", logged(t, st), "untold notice open fresh")
	equal(t, "floor", result(st.LogFloor(t.Context()))(t), daemon.LogFloor{PrunedTo: 7, Oldest: 8})

	// By count, the events that must stay do not use up places of the others.
	Commit(t, st, &daemon.Change{Events: []*event.Event{{Type: "a", At: past}, {Type: "b"}, {Type: "c"}}})
	equal(t, "too many", pruneWith(t, st, daemon.PruneLimits{Rows: 2}), int64(2))
	equal(t, "what is left", logged(t, st), "untold notice open b c")
	equal(t, "too many of the last minutes", pruneWith(t, st, daemon.PruneLimits{Rows: 1, Before: now()}), int64(0))
	equal(t, "for ever", pruneWith(t, st, daemon.PruneLimits{}), int64(0))

	// The store still knows the newest id after it has pruned that row.
	Commit(t, st, &daemon.Change{Events: []*event.Event{{Type: "d", At: old}}})
	equal(t, "last id", result(st.LastEventID(t.Context()))(t), int64(12))
	equal(t, "the newest", pruneWith(t, st, limits), int64(1))
	equal(t, "last id after it was pruned", result(st.LastEventID(t.Context()))(t), int64(12))
	equal(t, "floor above all", result(st.LogFloor(t.Context()))(t), daemon.LogFloor{PrunedTo: 12, Oldest: 13})
}

// pruneTogether: several hosts prune one log while others write events. Each deleted row is counted once.
func pruneTogether(t *testing.T, st daemon.Store) {
	many := &daemon.Change{}
	for range 2000 {
		many.Events = append(many.Events, &event.Event{Type: "old", At: now().Add(-48 * time.Hour)})
	}
	Commit(t, st, many)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var pruned int64
	for range 3 {
		wg.Go(func() {
			for {
				done, err := st.PruneEvents(t.Context(), daemon.PruneLimits{Before: now().Add(-time.Hour), Max: 100})
				if err != nil {
					t.Error(err)
				}
				if done.Rows == 0 {
					return
				}
				mu.Lock()
				pruned += done.Rows
				mu.Unlock()
			}
		})
	}
	wg.Go(func() {
		for i := range 50 {
			Commit(t, st, &daemon.Change{Events: []*event.Event{{Type: event.Type(fmt.Sprint("n", i))}}})
		}
	})
	wg.Wait()
	pruned += pruneWith(t, st, daemon.PruneLimits{Before: now().Add(-time.Hour)}) // rows that each host left to another
	equal(t, "pruned", pruned, int64(2000))
	equal(t, "left", len(events(t, st)), 50)
}
