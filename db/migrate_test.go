package db

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/db/dbtest"
)

func dial(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn := value(pgx.Connect(t.Context(), url))(t)
	t.Cleanup(func() { closeConn(conn) })
	return conn
}

// relations lists the schema's tables, indexes and sequences.
func relations(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	rows := value(conn.Query(t.Context(), `SELECT relname FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'goose%' ORDER BY 1`))(t)
	return value(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
}

func TestManyMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t, nil)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if err := Migrate(t.Context(), url); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(relations(t, dial(t, url))); n == 0 {
		t.Error("nothing was made")
	}
}

// migratorOf returns goose on a database, until the end of the test.
func migratorOf(t *testing.T, url string) *goose.Provider {
	t.Helper()
	p := value(Config{ConnString: url}.migrator())(t)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func TestMigrateDownAndUp(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t, Migrate)
	conn := dial(t, url)
	before := relations(t, conn)
	value(migratorOf(t, url).DownTo(t.Context(), 0))(t)
	equal(t, "after down", relations(t, conn), []string{})
	must(t, Migrate(t.Context(), url))
	equal(t, "after up", relations(t, conn), before)
}

// schemaOf lists the schema's columns and constraints with their definitions.
func schemaOf(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	rows := value(conn.Query(t.Context(), `
		SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default)
		FROM information_schema.columns WHERE table_schema = 'public'
		UNION ALL
		SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid))
		FROM pg_constraint WHERE connamespace = 'public'::regnamespace
		ORDER BY 1`))(t)
	return value(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
}

// TestMigrateWithRows migrates rows down to the first version, where they lose later columns, and up
// again.
func TestMigrateWithRows(t *testing.T) {
	t.Parallel()
	first := dbtest.New(t, nil)
	value(migratorOf(t, first).UpTo(t.Context(), 1))(t)

	db := open(t)
	url := db.connect.ConnString()
	a := wholeAgent(t, db)
	h, waits := wholeHandoff(t, db), newHandoff(t, db, newAgent(t, db, nil).ID)
	h.AgentID, h.Structured = a.ID, &daemon.Structured{WhatWasDone: new("all")}
	commit(t, db, &daemon.Change{NewAgent: a, NewHandoff: h})
	commit(t, db, &daemon.Change{Move: &daemon.Move{Handoff: h, From: h.Phase}, NewRecord: wholeRecord(h)})
	commit(t, db, moved(waits, daemon.Generating))
	stops := newAgent(t, db, func(a *daemon.Agent) { a.StopStage, a.StopStageAt = daemon.StopBreak, new(now()) })
	before := schemaOf(t, dial(t, url))
	db.Close() // its prepared statements would not fit the older schema

	p := migratorOf(t, url)
	value(p.DownTo(t.Context(), 1))(t)
	conn := dial(t, url)
	equal(t, "schema after down", schemaOf(t, conn), schemaOf(t, dial(t, first)))
	execute(t, conn, `UPDATE handoffs SET structured = '{"what_was_done": "all", "open_questions": null}' WHERE id = $1`, h.ID)

	value(p.Up(t.Context()))(t)
	equal(t, "schema after up", schemaOf(t, conn), before)
	var text string
	must(t, conn.QueryRow(t.Context(), `SELECT structured::text FROM handoffs WHERE id = $1`, h.ID).Scan(&text))
	equal(t, "structured", text, `{"what_was_done": "all"}`)

	db = opened(t, Config{ConnString: url})
	h.Generation, h.ContextUse, h.ForkedAt, h.WrittenBy = a.Generation, nil, nil, ""
	h.Missing = []string{}
	h.Keep, h.InPlace, h.DropMessages, h.Forced = false, false, false, false
	h.Heirs = []daemon.HandoffHeir{{ // the handoff is of a time without rows of heirs
		Heir: daemon.Heir{Persona: h.Persona}, AgentID: h.SuccessorID, Phase: h.Phase, PhaseAt: &h.PhaseAt, DeliveryID: h.DeliveryID,
	}}
	h.Hold = nil
	h.ReadOld() // there were notes alone
	gotH := value(db.Handoff(t.Context(), h.ID))(t)
	equal(t, "handoff", gotH, *h)
	a.ContextStart, a.AutoAskedAt, a.CompactHook, a.LastPromptAt = nil, nil, 0, nil
	a.StateAt, a.WaitsFor, a.LastMessage = *a.EndedAt, "", "" // the migration cannot know these
	a.AnsweredAt, a.FirstPromptID = nil, nil
	a.PipelineID, a.StepID, a.WorkStop, a.HandingOver, a.TurnError, a.StopInterrupt, a.StopYields = nil, nil, 0, false, "", false, false
	a.PaneColumns, a.PaneRows = 0, 0
	a.Trouble, a.EndCause = nil, ""
	a.Model, a.PermissionMode = "", ""
	a.Limit, a.LimitedUntil, a.LimitTriedAt = nil, nil, nil
	a.Reading, a.ReadAt, a.UnreadAt = false, nil, nil
	a.Effort, a.Base = "", nil
	a.Asked, a.Unread, a.FinishedAt, a.NotifyFinished, a.Repository, a.Branch = "", false, nil, "", "", ""
	a.AllowRules, a.SessionMode, a.Args = []string{}, "", []string{}
	a.StartCwd, a.StartBase, a.Account = "", nil, nil
	a.DialogAnswer, a.Keys, a.WorktreeID, a.DismissedAt, a.StopCameAt, a.Background = nil, nil, nil, nil, nil, nil
	a.Hold, a.EndCode, a.Sandbox = nil, "", false
	a.ReadOld()
	gotA := value(db.Agent(t.Context(), a.ID))(t)
	equal(t, "agent", gotA, *a)
	equal(t, "stage of one that was interrupted", value(db.Agent(t.Context(), stops.ID))(t).StopStage, daemon.StopNone)
	equal(t, "phase of one that was generating", value(db.Handoff(t.Context(), waits.ID))(t).Phase, daemon.AwaitingDocument)
}

// TestMigrateEvidence: deliveries that older daemons have decided get the code of their evidence. The code is read from the table, because
// the daemon itself would know it from the words.
func TestMigrateEvidence(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t, Migrate)
	db := opened(t, Config{ConnString: url})
	a, want := newAgent(t, db, nil), map[string]string{}
	for _, code := range []daemon.EvidenceCode{
		daemon.EvidenceInTranscript, daemon.EvidenceNoPane, daemon.EvidencePaneGone, daemon.EvidenceEnded,
		daemon.EvidenceWentOn, daemon.EvidenceChanged, daemon.EvidenceNotWanted, daemon.EvidenceRecorded, daemon.EvidenceStopAsked,
		daemon.EvidenceStepEnded, daemon.EvidenceBlocked, daemon.EvidenceUnknownScreen,
	} {
		dl := newDelivery(t, db, a.ID)
		dl.DecideBy(daemon.NotSubmitted, code, now())
		commit(t, db, &daemon.Change{Deliveries: []*daemon.Delivery{dl}})
		want[code.Words()] = string(code)
	}
	dl := newDelivery(t, db, a.ID)
	dl.Decide(daemon.NotSubmitted, "UserPromptSubmit, hook 7", now())
	commit(t, db, &daemon.Change{Deliveries: []*daemon.Delivery{dl}})
	want[dl.Evidence] = ""

	value(migratorOf(t, url).DownTo(t.Context(), 82))(t)
	must(t, Migrate(t.Context(), url))
	rows := value(dial(t, url).Query(t.Context(), `SELECT evidence, evidence_code FROM deliveries`))(t)
	got, said, code := map[string]string{}, "", ""
	value(pgx.ForEachRow(rows, []any{&said, &code}, func() error { got[said] = code; return nil }))(t)
	equal(t, "codes", got, want)
}

// TestMigrateRefusesASchemaThatIsTooNew: a daemon works with the schema of the next release, and with no later one.
func TestMigrateRefusesASchemaThatIsTooNew(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t, Migrate)
	conn := dial(t, url)
	execute(t, conn, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`)
	must(t, Migrate(t.Context(), url))
	execute(t, conn, `UPDATE schema_oldest SET oldest = 9998`)
	for name, migrate := range map[string]func() error{
		"Migrate":      func() error { return Migrate(t.Context(), url) },
		"OpenMigrated": func() error { _, err := OpenMigrated(t.Context(), Config{ConnString: url}); return err },
	} {
		wantErr(t, name+" of the schema of a later release", migrate(), "upgrade this one")
	}
}

// TestOpenMigrated: OpenMigrated brings an empty schema and an older one up to date.
func TestOpenMigrated(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t, nil)
	opens := func(what string) {
		t.Helper()
		db, err := OpenMigrated(t.Context(), Config{ConnString: url})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		defer db.Close()
		if ready, err := db.upToDate(t.Context()); !ready || err != nil {
			t.Errorf("%s: not up to date: %v", what, err)
		}
	}
	opens("an empty database")
	opens("the same schema again")
	value(migratorOf(t, url).Down(t.Context()))(t)
	opens("an older schema")
}

func TestMigrateWaitsForTheLockUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t, nil)
	holder := dial(t, url)
	execute(t, holder, tryMigrationLock)
	late := errors.New("late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, late)
	defer cancel()
	if err := Migrate(ctx, url); err == nil || len(relations(t, holder)) != 0 {
		t.Errorf("migrated past the lock: %v", err)
	}
	execute(t, holder, migrationUnlock)
	must(t, Migrate(t.Context(), url))
}
