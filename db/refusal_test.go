package db

import (
	"errors"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/db/dbtest"
)

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	told, ok := errors.AsType[*daemon.Error](err)
	if !ok || told.Kind != daemon.KindUnavailable || string(told.Code) != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

// TestReadOnlyIsUnavailable: sessions that were opened while the database was read-only stay read-only, as
// those with a primary that was demoted do. None is left once the database takes writes.
func TestReadOnlyIsUnavailable(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t, Migrate)
	run, db := dbtest.Admin(t, url), at(t, url)
	a := newAgent(t, db, nil)
	run(dbtest.SetReadOnly)
	eventually(t, "read-only sessions", func() bool {
		var e *daemon.Error
		return errors.As(db.Commit(t.Context(), &daemon.Change{Agents: []*daemon.Agent{a}}), &e) && e.Code == "database_read_only"
	})
	wantCode(t, db.TryWrite(t.Context(), "h1"), "database_read_only")
	_, err := db.LockHost(t.Context(), "h1", holder("first", "d1"), nil)
	wantCode(t, err, "database_read_only")
	_, err = db.RecordHook(t.Context(), input("k"), func(daemon.HookTx) daemon.HookDecision { return daemon.HookDecision{} })
	wantCode(t, err, "database_read_only")
	run(dbtest.SetWritable)
	must(t, db.TryWrite(t.Context(), "h1"))
	commit(t, db, &daemon.Change{Agents: []*daemon.Agent{a}})
}

// TestRefusedWriteLosesTheLock: the lock is lost although the connection that holds it still works.
func TestRefusedWriteLosesTheLock(t *testing.T) {
	t.Parallel()
	for code, state := range map[string]string{"database_full": "53100", "database_read_only": "25006"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			url := dbtest.New(t, Migrate)
			run, db := dbtest.Admin(t, url), at(t, url)
			must(t, db.Heartbeat(t.Context(), Host{ID: "h1"}))
			l := lockHost(t, db, "h1")
			run(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '` + state + `'; END $$;
				CREATE TRIGGER refuse BEFORE UPDATE ON hosts FOR EACH ROW EXECUTE FUNCTION refuse()`)
			wantCode(t, db.TryWrite(t.Context(), "h1"), code)
			wait(t, "loss of the lock", l.Lost())
			run(`DROP TRIGGER refuse ON hosts`)
			must(t, db.TryWrite(t.Context(), "h1"))
			if db.diskFull.Load() {
				t.Error("the disk is still taken for full")
			}
			lockHost(t, db, "h1")
		})
	}
}
