package db

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/db/dbtest"
)

func dial(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, conn, err)
	t.Cleanup(func() { closeConn(conn) })
	return conn
}

// relations lists what the schema consists of.
func relations(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT relname FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'goose%' ORDER BY 1`)
	must(t, rows, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return must(t, names, err)
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

func TestMigrateDownAndUp(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t, Migrate)
	conn := dial(t, url)
	before := relations(t, conn)
	p, err := Config{ConnString: url}.migrator()
	must(t, p, err)
	defer func() { _ = p.Close() }() // nothing is left to report
	if _, err := p.DownTo(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	equal(t, "after down", relations(t, conn), []string{})
	if err := Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	equal(t, "after up", relations(t, conn), before)
}

func TestMigrateRefusesANewerSchema(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t, Migrate)
	if _, err := dial(t, url).Exec(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`); err != nil {
		t.Fatal(err)
	}
	if err := Migrate(t.Context(), url); err == nil || !strings.Contains(err.Error(), "upgrade this one") {
		t.Errorf("migrate: %v", err)
	}
}

func TestMigrateWaitsForTheLockUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t, nil)
	holder := dial(t, url)
	if _, err := holder.Exec(t.Context(), tryMigrationLock); err != nil {
		t.Fatal(err)
	}
	late := errors.New("late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, late)
	defer cancel()
	if err := Migrate(ctx, url); err == nil || len(relations(t, holder)) != 0 {
		t.Errorf("migrated past the lock: %v", err)
	}
	if _, err := holder.Exec(t.Context(), migrationUnlock); err != nil {
		t.Fatal(err)
	}
	if err := Migrate(t.Context(), url); err != nil {
		t.Error(err)
	}
}
