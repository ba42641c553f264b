package db

import (
	"testing"
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
