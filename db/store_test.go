package db

import (
	"flag"
	"fmt"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/sim/memory"
	"github.com/understudyd/understudy/daemon/storetest"
)

// The store's suite makes its rows with these.
var (
	commit       = storetest.Commit
	newAgent     = storetest.NewAgent
	aHandoff     = storetest.AHandoff
	newHandoff   = storetest.NewHandoff
	aDelivery    = storetest.ADelivery
	newDelivery  = storetest.NewDelivery
	moved        = storetest.Moved
	newRecord    = storetest.NewRecord
	wholeAgent   = storetest.WholeAgent
	wholeHandoff = storetest.WholeHandoff
	wholeRecord  = storetest.WholeRecord
	recorded     = storetest.Recorded
	aRun         = storetest.APipeline
	newRun       = storetest.NewPipeline
	to           = storetest.InStatus
	ranTo        = storetest.PipelineMoved
	newWorker    = storetest.NewWorker
	runOf        = storetest.PipelineOf
	wholeOutput  = storetest.WholeOutput
	record       = storetest.RecordHook
	input        = storetest.Input
)

// TestStore runs the suite that every store passes; the other tests are about PostgreSQL.
func TestStore(t *testing.T) {
	t.Parallel()
	// To empty a database takes less time than to make one.
	free := make(chan *DB, 3)
	for range cap(free) {
		free <- open(t)
	}
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		db := <-free
		t.Cleanup(func() { free <- db })
		empty(t, db)
		return storetest.Harness{
			Store: db,
			SetHost: func(t testing.TB, host, dataRoot string) {
				must(t, db.Heartbeat(t.Context(), Host{ID: host, DataRoot: dataRoot}))
			},
			Line: func(t testing.TB, first *daemon.Agent, n int) {
				value(db.pool.Exec(t.Context(), `INSERT INTO agents SELECT (jsonb_populate_record(agents, jsonb_build_object(
						'id', id + n, 'previous_agent_id', id + n - 1, 'tmux_session', 'line-' || n))).*
					FROM agents, generate_series(1, $1) AS n WHERE id = $2`, n, first.ID))(t)
			},
		}
	})
}

var (
	seed  = flag.Uint64("seed", 0, "compare the stores with this seed alone")
	seeds = flag.Uint64("seeds", 100, "compare the stores with so many seeds")
)

// empty deletes all rows of a database, and restarts its sequences.
func empty(t *testing.T, db *DB) {
	t.Helper()
	value(db.pool.Exec(t.Context(), `
		DELETE FROM hosts; DELETE FROM notification_preferences; DELETE FROM pushes; DELETE FROM budget_marks; DELETE FROM usage; DELETE FROM usage_read; DELETE FROM events; DELETE FROM hook_events; DELETE FROM decisions; DELETE FROM records;
		DELETE FROM transitions; DELETE FROM permissions; DELETE FROM deliveries; DELETE FROM handoffs; DELETE FROM step_handoffs; DELETE FROM agents; DELETE FROM worktrees;
		DELETE FROM steps; DELETE FROM pipelines; UPDATE log_floor SET pruned_to = 0;
		SELECT setval(pg_get_serial_sequence(name, 'id'), 1, false)
			FROM unnest('{agents,handoffs,deliveries,hook_events,events,pipelines,steps,step_handoffs,worktrees,pushes}'::text[]) AS name`))(t)
}

// TestSameAsMemory commits the same drawn changes to this store and to the one in memory, which must answer alike.
func TestSameAsMemory(t *testing.T) {
	t.Parallel()
	first, last := uint64(1), *seeds
	if *seed != 0 {
		first, last = *seed, *seed
	}
	const workers = 2
	for w := range uint64(workers) {
		t.Run(fmt.Sprint("worker", w), func(t *testing.T) {
			t.Parallel()
			db := open(t)
			for s := first + w; s <= last; s += workers {
				empty(t, db)
				storetest.Compare(t, s, 30, memory.New(), db)
			}
		})
	}
}
