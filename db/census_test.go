package db

import (
	"testing"

	"github.com/understudyd/understudy/db/dbtest"
)

func TestPoolStats(t *testing.T) {
	t.Parallel()
	db := open(t)
	conn, err := db.pool.Acquire(t.Context())
	must(t, conn, err)
	held := db.Stats()
	conn.Release()
	if s := db.Stats(); held.Acquired != 1 || s.Acquired != 0 || s.Idle < 1 || s.Max != defaultMaxConns+readConns {
		t.Errorf("with a connection taken %+v, without %+v", held, s)
	}
}

// TestPoolsAsTheAddressSays: a database's address may limit the connections, and every way to connect understands it.
func TestPoolsAsTheAddressSays(t *testing.T) {
	t.Parallel()
	for limit, max := range map[string]int{"3": 3 + 3, "7": 7 + readConns} {
		db, err := OpenMigrated(t.Context(), Config{ConnString: dbtest.With(dbtest.New(t, nil), "pool_max_conns", limit)})
		if err != nil {
			t.Fatal(err)
		}
		if s := db.Stats(); s.Max != max {
			t.Errorf("pool_max_conns %s: %d connections, want %d", limit, s.Max, max)
		}
		db.Close()
	}
}
