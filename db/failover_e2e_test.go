//go:build e2e

package db

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/db/dbtest"
)

// TestFailover makes two servers change their roles. The DB drops its connections to the server that was
// demoted, and its next ones reach the other server.
func TestFailover(t *testing.T) {
	t.Parallel()
	var hosts [2]string
	var run [2]func(string)
	for i := range hosts {
		url := dbtest.Cluster(t).ConnString()
		hosts[i] = value(pgx.ParseConfig(url))(t).Host
		must(t, Migrate(t.Context(), url))
		run[i] = dbtest.Admin(t, url)
	}
	run[0](dbtest.SetReadOnly)
	db := at(t, "host="+hosts[0]+","+hosts[1]+" port=5432,5432 user=understudy_daemon dbname=understudy target_session_attrs=read-write")
	l := lockHost(t, db, "h1")
	run[0](dbtest.SetWritable)
	run[1](dbtest.SetReadOnly)
	wait(t, "loss of the lock", l.Lost())
	l.Release()
	must(t, db.TryWrite(t.Context(), "h1"))
	if before := lockHost(t, db, "h1").Before(); before != nil {
		t.Errorf("the lock is on the server that was demoted: held before by %+v", before)
	}
}
