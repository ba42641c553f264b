package db

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// TestSearchesKeepNobodyWaiting: while ten searches of the event log run or wait, hooks and other reads get connections.
func TestSearchesKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.auditTimeout = 2 * time.Second
	// The test locks the event log, so that each search lasts until its time limit.
	holder := dial(t, db.connect.ConnString())
	execute(t, holder, "BEGIN; LOCK TABLE events")
	var wg sync.WaitGroup
	codes := make(chan daemon.Code, 10)
	for range cap(codes) {
		wg.Go(func() {
			_, err := db.Audit(daemon.AsReader(t.Context()), daemon.AuditFilter{})
			var told *daemon.Error
			errors.As(err, &told)
			codes <- told.Code
		})
	}
	eventually(t, "searches", func() bool { return db.reads.Stat().AcquiredConns() >= maxSearches })
	began := time.Now()
	value(db.Agents(daemon.AsReader(t.Context()), daemon.AgentFilter{}))(t)
	for range 20 { // more than there are connections
		record(t, db, input(time.Now().String()), nil)
	}
	if took := time.Since(began); took >= db.auditTimeout {
		t.Errorf("a read and hooks took %s, as long as the searches", took)
	}
	wg.Wait()
	close(codes)
	count := map[daemon.Code]int{}
	for code := range codes {
		count[code]++
	}
	if count["audit_too_slow"] < maxSearches || count["audit_busy"] == 0 || len(count) != 2 {
		t.Errorf("searches ended as %v", count)
	}
}

// TestReadersHaveConnectionsOfTheirOwn: when readers have taken all their connections, hooks and lanes still get one.
func TestReadersHaveConnectionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	db := open(t)
	for range readConns {
		conn := value(db.reads.Acquire(t.Context()))(t)
		defer conn.Release()
	}
	a := newAgent(t, db, nil)
	got := value(db.Agent(t.Context(), a.ID))(t)
	if got.ID != a.ID || db.pool.Stat().AcquiredConns() != 0 {
		t.Errorf("read %+v", got)
	}
}
