package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/db/dbtest"
)

func TestMain(m *testing.M) {
	code := dbtest.Main(m)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// open returns a DB on a fresh, migrated database.
func open(t testing.TB) *DB {
	t.Helper()
	db, err := Open(t.Context(), Config{ConnString: dbtest.New(t, Migrate)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// must unwraps the result of a call that may not fail.
func must[T any](t testing.TB, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func commit(t testing.TB, db *DB, c *daemon.Change) {
	t.Helper()
	if err := db.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func nextOf(t testing.TB, db *DB, kind daemon.IDKind) int64 {
	t.Helper()
	id, err := db.NextID(t.Context(), kind)
	return must(t, id, err)
}

// newAgent commits an agent of host h1.
func newAgent(t testing.TB, db *DB, change func(*daemon.Agent)) *daemon.Agent {
	t.Helper()
	id := nextOf(t, db, daemon.AgentIDs)
	a := &daemon.Agent{
		ID: id, Name: "a", Runtime: "claude", Host: "h1", State: daemon.Idle, Generation: 1, CreatedAt: now(),
		Managed: true, TmuxSession: fmt.Sprintf("agent-%d", id),
	}
	if change != nil {
		change(a)
	}
	commit(t, db, &daemon.Change{NewAgent: a})
	return a
}

func aHandoff(t testing.TB, db *DB, agentID int64) *daemon.Handoff {
	t.Helper()
	id := nextOf(t, db, daemon.HandoffIDs)
	return &daemon.Handoff{
		ID: id, Ref: fmt.Sprintf("ref-%d", id), AgentID: agentID, Persona: "developer-con-1", Reason: "manual", Mode: "agent",
		Phase: daemon.Requested, FilePath: fmt.Sprintf("/handoffs/%d.md", id), CreatedAt: now(), PhaseAt: now(), Host: "h1",
	}
}

func newHandoff(t testing.TB, db *DB, agentID int64) *daemon.Handoff {
	t.Helper()
	h := aHandoff(t, db, agentID)
	commit(t, db, &daemon.Change{NewHandoff: h})
	return h
}

func aDelivery(t testing.TB, db *DB, agentID int64) *daemon.Delivery {
	t.Helper()
	return &daemon.Delivery{
		ID: nextOf(t, db, daemon.DeliveryIDs), AgentID: agentID, Kind: daemon.KindMessage, Text: "hello",
		State: daemon.DeliveryQueued, CreatedAt: now(),
	}
}

func newDelivery(t testing.TB, db *DB, agentID int64) *daemon.Delivery {
	t.Helper()
	d := aDelivery(t, db, agentID)
	commit(t, db, &daemon.Change{NewDeliveries: []*daemon.Delivery{d}})
	return d
}

// moved returns a copy of h in another phase, as a change.
func moved(h *daemon.Handoff, to daemon.Phase) *daemon.Change {
	next := *h
	next.Phase, next.PhaseAt = to, now()
	switch to {
	case daemon.Requested, daemon.Instructing, daemon.AwaitingDocument, daemon.Generating, daemon.Verifying, daemon.Cancelled:
	case daemon.Failed:
	default:
		if next.RecordedAt == nil {
			next.RecordedAt = ptr(now())
		}
	}
	return &daemon.Change{Move: &daemon.Move{Handoff: &next, From: h.Phase, Cause: "test"}}
}

// now is a time that PostgreSQL keeps exactly.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func ptr[T any](v T) *T { return &v }

// rowCount counts the rows of a table.
func rowCount(t testing.TB, db *DB, table string) (n int) {
	t.Helper()
	if err := db.pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// eventually polls until ok, for at most five seconds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatal("not within 30 s: " + what)
		}
		<-tick.C
	}
}

// wait waits for a channel; only a failing test waits long.
func wait[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(30 * time.Second):
		t.Fatal("not within 30 s: " + what)
		panic("unreachable")
	}
}

// terminate kills the server's end of the connections with an application name.
func terminate(t testing.TB, db *DB, name string) {
	t.Helper()
	tag, err := db.pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = $1`, name)
	if err != nil || tag.RowsAffected() == 0 {
		t.Fatalf("terminate %q: %v, %v", name, tag, err)
	}
}

var filled atomic.Int64

// fill gives every field of a struct a value that is neither zero nor another field's, so that a
// column that is missing or in another's place shows.
func fill(v reflect.Value) {
	n := filled.Add(1)
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, int(n%60), int(n)*1000, time.UTC)))
		return
	case []byte, json.RawMessage:
		v.SetBytes(fmt.Append(nil, n)) // a number is JSON, too
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString(fmt.Sprint("s", n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(n)
	case reflect.Uint64:
		v.SetUint(uint64(n))
	case reflect.Float64:
		v.SetFloat(float64(n) / 4)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	default:
		panic("fill: " + v.Type().String())
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

func TestOpenNamesTheFault(t *testing.T) {
	t.Parallel()
	if _, err := Open(t.Context(), Config{ConnString: "postgres://%"}); err == nil {
		t.Error("bad settings were accepted")
	}
	refused := errors.New("refused by test")
	c := Config{ConnString: dbtest.New(t, Migrate), Configure: func(c *pgx.ConnConfig) {
		c.DialFunc = func(context.Context, string, string) (net.Conn, error) { return nil, refused }
	}}
	if _, err := Open(t.Context(), c); !errors.Is(err, refused) {
		t.Errorf("open: %v, want the dialler's error", err)
	}
	if err := c.Migrate(t.Context()); !errors.Is(err, refused) {
		t.Errorf("migrate: %v, want the dialler's error", err)
	}
}

func TestSessionSettings(t *testing.T) {
	t.Parallel()
	db := open(t)
	for name, want := range map[string]string{
		"application_name": "understudy", "TimeZone": "UTC",
		"idle_in_transaction_session_timeout": "10s", "statement_timeout": "30s",
	} {
		var got string
		if err := db.pool.QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestPing(t *testing.T) {
	t.Parallel()
	db := open(t)
	if err := db.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	db.Close()
	if err := db.Ping(t.Context()); err == nil {
		t.Error("a closed pool answers")
	}
}
