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
	ended.Phase, ended.CompletedAt = daemon.Cancelled, ptr(now())
	Commit(t, st, &daemon.Change{Move: &daemon.Move{Handoff: ended, From: from}})
	old, past := now().Add(-48*time.Hour), now().Add(-daemon.NeverPruned-time.Minute)
	alert := &event.Event{Type: "untold", At: old, Host: "h1", Alert: true}
	told := &event.Event{Type: "told", At: old, Host: "h1", Alert: true}
	Commit(t, st, &daemon.Change{Events: []*event.Event{
		{Type: "plain", At: old}, alert, told, {Type: "notice", At: old, Host: "h1", Notice: event.NoticeWaiting},
		{Type: "open", At: old, HandoffID: &open1.ID}, {Type: "ended", At: old, HandoffID: &ended.ID},
		{Type: "nowhere", At: old, HandoffID: ptr(int64(999)), PipelineID: ptr(int64(999))}, {Type: "fresh", At: past},
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

// floorStays: if the store prunes an older event after a newer one, the floor does not go down.
func floorStays(t *testing.T, st daemon.Store) {
	Commit(t, st, &daemon.Change{Events: []*event.Event{
		{Type: "late", At: now().Add(-2 * time.Hour)}, {Type: "middle"}, {Type: "early", At: now().Add(-4 * time.Hour)}, {Type: "last"},
	}})
	for _, age := range []time.Duration{3 * time.Hour, time.Hour} {
		equal(t, "pruned", pruneWith(t, st, daemon.PruneLimits{Before: now().Add(-age)}), int64(1))
		equal(t, "floor", result(st.LogFloor(t.Context()))(t), daemon.LogFloor{PrunedTo: 3, Oldest: 4})
	}
}

// pruneTheOldestFirst: by age the store prunes in the order of the events' times, by count in the order of their ids.
func pruneTheOldestFirst(t *testing.T, st daemon.Store) {
	hours := func(n int) time.Time { return now().Add(time.Duration(-n) * time.Hour) }
	Commit(t, st, &daemon.Change{Events: []*event.Event{
		{Type: "late", At: hours(2)}, {Type: "early", At: hours(4)}, {Type: "middle", At: hours(3)},
	}})
	for _, left := range []string{"late middle", "late", ""} {
		before := result(st.Audit(t.Context(), daemon.AuditFilter{}))(t)
		done := result(st.PruneEvents(t.Context(), daemon.PruneLimits{Before: hours(1), Max: 1}))(t)
		equal(t, "left", logged(t, st), left)
		for _, e := range before {
			if done.Rows != 1 || done.Newest == nil || e.At.Before(*done.Newest) {
				t.Errorf("%+v was pruned before %s of %s", done, e.Type, e.At)
			}
		}
	}
	Commit(t, st, &daemon.Change{Events: []*event.Event{
		{Type: "a", At: hours(1)}, {Type: "b", At: hours(4)}, {Type: "c", At: hours(3)}, {Type: "d", At: hours(2)},
	}})
	for _, tt := range []struct {
		left   string
		pruned int64
		rows   int64
	}{{"b c d", 1, 3}, {"c d", 1, 2}, {"c d", 0, 2}} {
		done := result(st.PruneEvents(t.Context(), daemon.PruneLimits{Rows: tt.rows}))(t)
		equal(t, "left", logged(t, st), tt.left)
		equal(t, "pruned", done.Rows, tt.pruned)
	}
}

// logThatIsEmptied: an empty log still knows its newest id, and gives the next id to the next event.
func logThatIsEmptied(t *testing.T, st daemon.Store) {
	old := now().Add(-time.Hour)
	Commit(t, st, &daemon.Change{Events: []*event.Event{{Type: "a", At: old}, {Type: "b", At: old}}})
	equal(t, "pruned", pruneWith(t, st, daemon.PruneLimits{Before: now()}), int64(2))
	equal(t, "last id", result(st.LastEventID(t.Context()))(t), int64(2))
	equal(t, "floor", result(st.LogFloor(t.Context()))(t), daemon.LogFloor{PrunedTo: 2, Oldest: 3})
	next := &event.Event{Type: "c"}
	Commit(t, st, &daemon.Change{Events: []*event.Event{next}})
	equal(t, "next id", next.ID, int64(3))
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

func pruneHooks(t *testing.T, st daemon.Store) {
	hook := func(key string, agent *daemon.Agent) int64 {
		in := Input(key)
		in.LaunchHash = []byte("nobody")
		if agent != nil {
			in.LaunchHash = agent.LaunchHash
		}
		result, _ := RecordHook(t, st, in, func(daemon.HookTx) daemon.HookDecision { return daemon.HookDecision{} })
		return result.HookID
	}
	active := NewAgent(t, st, func(a *daemon.Agent) { a.LaunchHash = []byte("active") })
	lately := NewAgent(t, st, func(a *daemon.Agent) {
		a.LaunchHash, a.State, a.EndedAt = []byte("lately"), daemon.Ended, ptr(now().Add(time.Hour))
	})
	ended := NewAgent(t, st, func(a *daemon.Agent) {
		a.LaunchHash, a.State, a.EndedAt = []byte("ended"), daemon.Ended, ptr(now().Add(-48*time.Hour))
	})
	ids := map[string]int64{
		"nobody": hook("nobody", nil), "active": hook("active", active), "lately": hook("lately", lately),
		"ended": hook("ended", ended), "named": hook("named", ended),
	}
	ended.WorkStop = ids["named"]
	Commit(t, st, &daemon.Change{Agents: []*daemon.Agent{ended}})
	before := now()
	for ; now().Equal(before); before = now() { // until the clock has moved on: hooks from here on are younger
	}
	ids["new"] = hook("new", nil)
	var rows int64
	for {
		done := result(st.PruneHooks(t.Context(), daemon.PruneLimits{Before: before, Max: 1}))(t)
		if done.Rows == 0 {
			break
		}
		rows += done.Rows
	}
	equal(t, "pruned", rows, int64(4))
	for name, left := range map[string]bool{"nobody": false, "active": false, "lately": false, "ended": false, "named": true, "new": true} {
		if _, err := st.StoredHook(t.Context(), ids[name]); (err == nil) != left {
			t.Errorf("hook %q: left %t, want %t (%v)", name, err == nil, left, err)
		}
	}
	// The key of a pruned hook is free again: a hook with that key is stored anew.
	if again := hook("ended", ended); again <= ids["new"] {
		t.Errorf("a pruned hook was answered from its row %d", again)
	}
	equal(t, "hooks by count", result(st.PruneHooks(t.Context(), daemon.PruneLimits{Rows: 1}))(t), daemon.Pruned{})
}
