package db

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// logged is what there is in the log, as types.
func logged(t *testing.T, db *DB) string {
	t.Helper()
	events, err := db.Events(t.Context(), daemon.EventFilter{})
	var types []string
	for _, e := range must(t, events, err) {
		types = append(types, e.Type)
	}
	return strings.Join(types, " ")
}

// pruneWith prunes until nothing is left to prune, and returns how many rows that were.
func pruneWith(t *testing.T, db *DB, l daemon.PruneLimits) (rows int64) {
	t.Helper()
	for {
		done, err := db.PruneEvents(t.Context(), l)
		if must(t, done, err).Rows == 0 {
			return rows
		}
		rows += done.Rows
	}
}

func TestPruneEventsKeepsWhatIsNeeded(t *testing.T) {
	t.Parallel()
	db := open(t)
	open1 := newHandoff(t, db, newAgent(t, db, nil).ID)
	ended := newHandoff(t, db, newAgent(t, db, nil).ID)
	from := ended.Phase
	ended.Phase, ended.CompletedAt = daemon.Cancelled, ptr(now())
	commit(t, db, &daemon.Change{Move: &daemon.Move{Handoff: ended, From: from}})
	old, fresh := now().Add(-48*time.Hour), now()
	alert := &daemon.Event{Type: "untold", At: old, Host: "h1", Alert: true}
	told := &daemon.Event{Type: "told", At: old, Host: "h1", Alert: true}
	commit(t, db, &daemon.Change{Events: []*daemon.Event{
		{Type: "plain", At: old}, alert, told, {Type: "notice", At: old, Host: "h1", Notice: daemon.NoticeWaiting},
		{Type: "open", At: old, HandoffID: &open1.ID}, {Type: "ended", At: old, HandoffID: &ended.ID},
		{Type: "nowhere", At: old, HandoffID: ptr(int64(999)), PipelineID: ptr(int64(999))}, {Type: "fresh", At: fresh},
	}})
	if err := db.MarkAlerted(t.Context(), []int64{told.ID}, nil); err != nil {
		t.Fatal(err)
	}
	floor, err := db.LogFloor(t.Context())
	equal(t, "floor at first", must(t, floor, err), daemon.LogFloor{PrunedTo: 0, Oldest: 1})
	limits := daemon.PruneLimits{Before: now().Add(-24 * time.Hour), Max: 2}
	equal(t, "old ones", pruneWith(t, db, limits), int64(4))
	equal(t, "what is left", logged(t, db), "untold notice open fresh")
	floor, err = db.LogFloor(t.Context())
	equal(t, "floor", must(t, floor, err), daemon.LogFloor{PrunedTo: 7, Oldest: 8})

	// By count, those that must stay do not count against the others.
	past := now().Add(-daemon.NeverPruned - time.Minute)
	if _, err := db.pool.Exec(t.Context(), "UPDATE events SET at = $1 WHERE type = 'fresh'", past); err != nil {
		t.Fatal(err)
	}
	commit(t, db, &daemon.Change{Events: []*daemon.Event{{Type: "a", At: past}, {Type: "b"}, {Type: "c"}}})
	equal(t, "too many", pruneWith(t, db, daemon.PruneLimits{Rows: 2}), int64(2))
	equal(t, "what is left", logged(t, db), "untold notice open b c")
	equal(t, "too many of the last minutes", pruneWith(t, db, daemon.PruneLimits{Rows: 1, Before: now()}), int64(0))
	equal(t, "for ever", pruneWith(t, db, daemon.PruneLimits{}), int64(0))

	// The newest id is known although its row is gone.
	commit(t, db, &daemon.Change{Events: []*daemon.Event{{Type: "d", At: old}}})
	last, err := db.LastEventID(t.Context())
	equal(t, "last id", must(t, last, err), int64(12))
	equal(t, "the newest", pruneWith(t, db, limits), int64(1))
	last, err = db.LastEventID(t.Context())
	equal(t, "last id after it was pruned", must(t, last, err), int64(12))
	floor, err = db.LogFloor(t.Context())
	equal(t, "floor above all", must(t, floor, err), daemon.LogFloor{PrunedTo: 12, Oldest: 13})
}

// TestFloorStays: an event that is pruned after a newer one does not bring the floor back down.
func TestFloorStays(t *testing.T) {
	t.Parallel()
	db := open(t)
	commit(t, db, &daemon.Change{Events: []*daemon.Event{
		{Type: "late", At: now().Add(-2 * time.Hour)}, {Type: "middle"}, {Type: "early", At: now().Add(-4 * time.Hour)}, {Type: "last"},
	}})
	for _, age := range []time.Duration{3 * time.Hour, time.Hour} {
		equal(t, "pruned", pruneWith(t, db, daemon.PruneLimits{Before: now().Add(-age)}), int64(1))
		floor, err := db.LogFloor(t.Context())
		equal(t, "floor", must(t, floor, err), daemon.LogFloor{PrunedTo: 3, Oldest: 4})
	}
}

// TestPruneTogether has several hosts prune one log while events are written. Each row is counted once.
func TestPruneTogether(t *testing.T) {
	t.Parallel()
	db := open(t)
	manyEvents(t, db, 2000, now().Add(-48*time.Hour))
	var wg sync.WaitGroup
	var mu sync.Mutex
	var pruned int64
	for range 3 {
		wg.Go(func() {
			for {
				done, err := db.PruneEvents(t.Context(), daemon.PruneLimits{Before: now().Add(-time.Hour), Max: 100})
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
			commit(t, db, &daemon.Change{Events: []*daemon.Event{{Type: fmt.Sprint("n", i)}}})
		}
	})
	wg.Wait()
	pruned += pruneWith(t, db, daemon.PruneLimits{Before: now().Add(-time.Hour)}) // what one left to another
	equal(t, "pruned", pruned, int64(2000))
	equal(t, "left", rowCount(t, db, "events"), 50)
}

// manyEvents fills the log with events of one age.
func manyEvents(t testing.TB, db *DB, n int, at time.Time) {
	t.Helper()
	const fill = `INSERT INTO events (type, at, host, agent_id, payload, alert)
		SELECT 'agent_idle', $2, 'h1', i % 50 + 1, jsonb_build_object('hook', 'Stop', 'message', 'Event ' || i), false FROM generate_series(1, $1::int) i`
	if _, err := db.pool.Exec(t.Context(), fill, n, at); err != nil {
		t.Fatal(err)
	}
}

func TestPruneHooks(t *testing.T) {
	t.Parallel()
	db := open(t)
	hook := func(key string, agent *daemon.Agent) int64 {
		in := input(key)
		in.LaunchHash = []byte("nobody")
		if agent != nil {
			in.LaunchHash = agent.LaunchHash
		}
		result, _ := record(t, db, in, func(daemon.HookTx) daemon.HookDecision { return daemon.HookDecision{} })
		return result.HookID
	}
	ago := func(d time.Duration) *time.Time { return ptr(now().Add(-d)) }
	active := newAgent(t, db, func(a *daemon.Agent) { a.LaunchHash = []byte("active") })
	lately := newAgent(t, db, func(a *daemon.Agent) {
		a.LaunchHash, a.State, a.EndedAt = []byte("lately"), daemon.Ended, ago(time.Hour)
	})
	ended := newAgent(t, db, func(a *daemon.Agent) {
		a.LaunchHash, a.State, a.EndedAt = []byte("ended"), daemon.Ended, ago(48*time.Hour)
	})
	hook("nobody", nil)
	hook("active", active)
	hook("lately", lately)
	hook("ended", ended)
	ended.WorkStop = hook("named", ended)
	commit(t, db, &daemon.Change{Agents: []*daemon.Agent{ended}})
	if _, err := db.pool.Exec(t.Context(), "UPDATE hook_events SET received_at = $1", ago(72*time.Hour)); err != nil {
		t.Fatal(err)
	}
	hook("new", nil)
	var rows int64
	for {
		done, err := db.PruneHooks(t.Context(), daemon.PruneLimits{Before: *ago(24 * time.Hour), Max: 1})
		if must(t, done, err).Rows == 0 {
			break
		}
		rows += done.Rows
	}
	equal(t, "pruned", rows, int64(2))
	var left string
	err := db.pool.QueryRow(t.Context(), "SELECT string_agg(key, ' ' ORDER BY id) FROM hook_events").Scan(&left)
	equal(t, "left", must(t, left, err), "active lately named new")
	done, err := db.PruneHooks(t.Context(), daemon.PruneLimits{Rows: 1})
	equal(t, "hooks by count", must(t, done, err), daemon.Pruned{})
}

func TestAudit(t *testing.T) {
	t.Parallel()
	db := open(t)
	a := newAgent(t, db, func(a *daemon.Agent) { a.Persona = ptr("developer-con-1") })
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	commit(t, db, &daemon.Change{Events: []*daemon.Event{
		{Type: "agent_idle", Host: "h1", At: noon, AgentID: &a.ID, Payload: []byte(`{"message": "100% Ünder_way"}`)},
		{Type: "agent_ended", Host: "h2", At: noon.Add(time.Hour), AgentID: ptr(int64(77))},
		{Type: "handoff_failed", Host: "h1", At: noon.Add(2 * time.Hour), HandoffID: ptr(int64(8)), PipelineID: ptr(int64(9))},
	}})
	for name, tt := range map[string]struct {
		filter daemon.AuditFilter
		want   string
	}{
		"all":              {daemon.AuditFilter{}, "3 2 1"},
		"types":            {daemon.AuditFilter{Types: []string{"agent_idle", "handoff_failed"}}, "3 1"},
		"prefix":           {daemon.AuditFilter{TypePrefix: "agent_"}, "2 1"},
		"prefix, literal":  {daemon.AuditFilter{TypePrefix: "agent%"}, ""},
		"agent":            {daemon.AuditFilter{AgentID: 77}, "2"},
		"handoff":          {daemon.AuditFilter{HandoffID: 8}, "3"},
		"pipeline":         {daemon.AuditFilter{PipelineID: 9}, "3"},
		"host":             {daemon.AuditFilter{Host: "h2"}, "2"},
		"persona":          {daemon.AuditFilter{Persona: "developer-con-1"}, "1"},
		"since":            {daemon.AuditFilter{Since: noon.Add(time.Hour)}, "3 2"},
		"until":            {daemon.AuditFilter{Until: noon.Add(time.Hour)}, "1"},
		"text, its case":   {daemon.AuditFilter{Text: "100% üNDER_WAY"}, "1"},
		"text, no pattern": {daemon.AuditFilter{Text: "1_0%"}, ""},
		"text in the type": {daemon.AuditFilter{Text: "OFF_f"}, "3"},
		"text, NUL":        {daemon.AuditFilter{Text: "a\x00b"}, ""},
		"before":           {daemon.AuditFilter{Before: 3}, "2 1"},
		"limit":            {daemon.AuditFilter{Limit: 1}, "3"},
	} {
		events, err := db.Audit(t.Context(), tt.filter)
		var ids []string
		for _, e := range must(t, events, err) {
			ids = append(ids, fmt.Sprint(e.ID))
		}
		equal(t, name, strings.Join(ids, " "), tt.want)
	}
}

// TestAuditThatIsSlow has a search wait for a lock until its time is over.
func TestAuditThatIsSlow(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.auditTimeout = 50 * time.Millisecond
	tx, err := db.pool.Begin(t.Context())
	must(t, tx, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	if _, err := tx.Exec(t.Context(), "LOCK TABLE events"); err != nil {
		t.Fatal(err)
	}
	_, err = db.Audit(t.Context(), daemon.AuditFilter{})
	var told *daemon.Error
	if !errors.As(err, &told) || told.Code != "audit_too_slow" || told.Kind != daemon.KindUnprocessable {
		t.Errorf("got %v", err)
	}
}
