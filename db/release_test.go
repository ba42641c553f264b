package db

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
	"github.com/understudyd/understudy/db/dbtest"
)

// A release holds the statements that this package sent in the last release. It is kept as test data, because the
// daemon of that release works on this schema: on another host of a shared database, or after a downgrade.
type release struct {
	Schema     int64             // the newest migration that it knows
	Statements map[string]string // all statements that it sends, by name
	Session    []sentStatement   // a session of these statements, with values
}

// sentStatement is a statement as it was sent, with its values as text.
type sentStatement struct {
	Name string    // key in Statements, or the SQL itself
	Args []*string `json:",omitempty"`
	Tag  string    // the server's command tag
}

const releaseFile = "testdata/release.json"

var recordRelease = flag.Bool("record", false, "keep what this tree sends as that of the last release")

// TestLastReleaseWorksOnThisSchema sends everything that the last release sent. It fails for a new column that is NOT
// NULL without a default, and for a column or a constraint that the last release's writes no longer satisfy.
func TestLastReleaseWorksOnThisSchema(t *testing.T) {
	t.Parallel()
	if *recordRelease {
		keepRelease(t)
	}
	b := value(os.ReadFile(releaseFile))(t)
	var r release
	must(t, json.Unmarshal(b, &r))
	url := dbtest.New(t, Migrate)
	conn := dial(t, url)
	var oldest int64
	if err := conn.QueryRow(t.Context(), `SELECT oldest FROM schema_oldest`).Scan(&oldest); err != nil || oldest > r.Schema {
		t.Errorf("the schema refuses daemons that know migrations up to less than %d (%v), and the last release knows %d", oldest, err, r.Schema)
	}
	if strings.Contains(r.Statements["updateAgent"], "end_code") && strings.Contains(r.Statements["updateDelivery"], "evidence_code") {
		t.Error("the last release writes holds and codes: daemon/hold_old.go can go, with ReadOld, after a migration of the rows without them")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Statements)) {
		if _, err := conn.Prepare(t.Context(), "test_"+name, r.Statements[name]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i, s := range r.Session {
		sql, values := r.Statements[s.Name], make([][]byte, len(s.Args))
		if sql == "" {
			sql = s.Name
		}
		for n, arg := range s.Args {
			if arg != nil {
				values[n] = []byte(*arg)
			}
		}
		done := conn.PgConn().ExecParams(t.Context(), sql, values, nil, nil, nil).Read()
		if done.Err != nil {
			t.Fatalf("statement %d, %s: %v", i, s.Name, done.Err)
		}
		equal(t, fmt.Sprint("statement ", i, ", ", s.Name, ": ", done.CommandTag, ", and in the last release"), done.CommandTag.String(), s.Tag)
	}
	// This tree's daemon must read what the last release's daemon wrote.
	db := opened(t, Config{ConnString: url})
	readAll(t, db, 1, 1, 1)
}

// tape records the sent statements, in order.
type tape struct {
	mu   sync.Mutex
	sent []taped
}

type taped struct {
	sql  string
	args []any
	tag  string
}

func (r *tape) add(sql string, args []any, tag pgconn.CommandTag, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && sql != "" && !strings.HasPrefix(sql, "-- ping") {
		args = slices.DeleteFunc(slices.Clone(args), func(a any) bool { _, is := a.(pgx.QueryExecMode); return is })
		r.sent = append(r.sent, taped{sql, args, tag.String()})
	}
}

type tapedQuery struct{}

func (r *tape) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, tapedQuery{}, q)
}

func (r *tape) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, end pgx.TraceQueryEndData) {
	q, _ := ctx.Value(tapedQuery{}).(pgx.TraceQueryStartData)
	r.add(q.SQL, q.Args, end.CommandTag, end.Err)
}

func (r *tape) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (r *tape) TraceBatchQuery(_ context.Context, _ *pgx.Conn, q pgx.TraceBatchQueryData) {
	r.add(q.SQL, q.Args, q.CommandTag, q.Err)
}

func (r *tape) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// keepRelease writes the test data.
func keepRelease(t *testing.T) {
	t.Helper()
	url, recorder := dbtest.New(t, Migrate), &tape{}
	db := opened(t, Config{ConnString: url, MaxConns: 1, Configure: func(c *pgx.ConnConfig) { c.Tracer = recorder }})
	someHours(t, db)

	conn := dial(t, url)
	registerTypes(conn.TypeMap())
	out := release{Statements: statements}
	must(t, conn.QueryRow(t.Context(), `SELECT max(version_id) FROM goose_db_version`).Scan(&out.Schema))
	names := map[string]string{}
	for name, sql := range statements {
		names[sql] = name
	}
	writes := map[string]bool{}
	for _, s := range recorder.sent {
		name := names[s.sql]
		if name == "" {
			name = s.sql
		}
		writes[name] = true
		out.Session = append(out.Session, sentStatement{name, textOf(t, conn, s), s.tag})
	}
	for name, sql := range statements {
		verb, _, _ := strings.Cut(strings.TrimSpace(sql), " ")
		if (verb == "INSERT" || verb == "UPDATE" || verb == "DELETE") && !writes[name] && name != "upsertHolder" {
			t.Errorf("%s is not in the session: add it to someHours", name)
		}
	}
	b := value(json.MarshalIndent(out, "", " "))(t)
	if os.WriteFile(releaseFile, append(b, '\n'), 0o644) != nil {
		t.Fatal("not written: " + releaseFile)
	}
}

// textOf returns a statement's values as text.
func textOf(t *testing.T, conn *pgx.Conn, s taped) []*string {
	t.Helper()
	sd := value(conn.Prepare(t.Context(), s.sql, s.sql))(t)
	out := make([]*string, len(s.args))
	for i, arg := range s.args {
		text := value(conn.TypeMap().Encode(sd.ParamOIDs[i], pgtype.TextFormatCode, arg, []byte{}))(t)
		if text != nil {
			out[i] = new(string(text))
		}
	}
	return out
}

// someHours makes each call once that a daemon makes to its database.
func someHours(t *testing.T, db *DB) {
	t.Helper()
	ctx := t.Context()
	check := func(_ any, err error) {
		t.Helper()
		must(t, err)
	}
	check(nil, db.Heartbeat(ctx, Host{ID: "h1", Name: "one", Version: "1", DataRoot: "/data"}))
	check(nil, db.TryWrite(ctx, "h1"))
	_, err := db.ChangeNotificationPreferences(ctx, "h1", func(p *tell.Preferences) *event.Event {
		p.Waiting = true
		return nil
	})
	check(nil, err)
	a := newAgent(t, db, func(a *daemon.Agent) {
		a.LaunchHash, a.PID, a.PIDStart, a.SessionID, a.Persona = []byte("secret"), 7, 9, new("s"), new("developer-con-1")
	})
	commit(t, db, &daemon.Change{NewAgent: wholeAgent(t, db)})
	waits := newDelivery(t, db, a.ID)
	newDelivery(t, db, a.ID)
	waits.State = daemon.DeliveryTyping
	commit(t, db, &daemon.Change{Deliveries: []*daemon.Delivery{waits}, DropQueued: a.ID, DropEvidence: daemon.EvidenceStopAsked})
	h := newHandoff(t, db, a.ID)
	in := input("key")
	in.LaunchHash = a.LaunchHash
	_, locked := record(t, db, in, func(tx daemon.HookTx) daemon.HookDecision {
		tx.Agent.State = daemon.Working
		return daemon.HookDecision{Applied: true, Output: json.RawMessage(`{}`), Change: daemon.Change{
			Agents: []*daemon.Agent{tx.Agent}, Move: &daemon.Move{Handoff: tx.Handoff, From: tx.Handoff.Phase},
			Events: []*event.Event{{Type: "agent_working", Host: "h1", AgentID: &a.ID, Alert: true, Payload: json.RawMessage(`{"a": 1}`)}},
		}}
	})
	record(t, db, in, func(tx daemon.HookTx) daemon.HookDecision {
		return daemon.HookDecision{Change: daemon.Change{Agents: []*daemon.Agent{tx.Agent}}}
	})
	*h = *locked.Handoff
	commit(t, db, recorded(h, wholeRecord(h)))
	alerts, err := db.PendingAlerts(ctx, "h1", 10)
	check(nil, err)
	check(nil, db.MarkAlerted(ctx, []int64{alerts[0].ID}, &event.Event{Type: "operator_notified", Host: "h1"}))
	commit(t, db, ranTo(runOf(t, db, 1), daemon.PipelineDone)) // the pipeline of the agent above
	p := newRun(t, db, 2, nil)
	c := ranTo(runOf(t, db, p.ID), daemon.PipelineRunning)
	c.Admit = 4
	commit(t, db, c)
	commit(t, db, &daemon.Change{NewOutput: wholeOutput(t, db, p.Steps[0].ID, newWorker(t, db, p, 0).ID)})
	readAll(t, db, a.ID, h.ID, locked.HookID)
	newRun(t, db, 1, to(daemon.PipelineDone))
	newAgent(t, db, func(a *daemon.Agent) { a.State, a.EndedAt = daemon.Ended, new(now()) })
	for range 2 { // pipelines first, then agents
		check(db.PruneHistory(ctx, time.Now().Add(time.Hour), 10))
	}
	check(db.PruneEvents(ctx, daemon.PruneLimits{Before: time.Now(), Rows: 1}))
	check(db.PruneHooks(ctx, daemon.PruneLimits{Before: time.Now().Add(-time.Hour)})) // a reader looks at those above
}

// readAll reads every kind of row.
func readAll(t *testing.T, db *DB, agentID, handoffID, hookID int64) {
	t.Helper()
	ctx := t.Context()
	check := func(v any, err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	check(db.Agent(ctx, agentID))
	check(db.Agents(ctx, daemon.AgentFilter{Host: "h1", Active: true}))
	check(db.Agents(ctx, daemon.AgentFilter{Lately: true}))
	check(db.AgentByLaunch(ctx, []byte("secret")))
	check(db.Open(ctx, "h1"))
	check(db.PipelinePlaces(ctx, "h1"))
	check(db.Pipelines(ctx, daemon.PipelineFilter{}))
	check(db.Handoffs(ctx, daemon.HandoffFilter{}))
	check(db.Transitions(ctx, handoffID))
	check(db.Record(ctx, handoffID))
	check(db.LineRecords(ctx, daemon.LineQuery{AgentID: agentID, Messages: 5}))
	check(db.LineHandoffs(ctx, agentID, 5))
	check(db.Deliveries(ctx, agentID, 0, 5))
	check(db.OpenDeliveries(ctx, agentID))
	check(db.Sent(ctx, agentID, time.Now().Add(-time.Hour)))
	check(db.Events(ctx, event.Filter{AgentID: agentID}))
	check(db.Audit(ctx, daemon.AuditFilter{Text: "work", Persona: "developer-con-1"}))
	check(db.StoredHook(ctx, hookID))
	check(db.Census(ctx, "h1"))
	check(db.LogFloor(ctx))
	check(db.Hosts(ctx))
	check(db.NotificationPreferences(ctx, "h1"))
}
