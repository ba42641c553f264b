package db

import (
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/storetest"
)

// With these the store's suite makes its rows.
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
	aRun         = storetest.ARun
	newRun       = storetest.NewRun
	to           = storetest.To
	ranTo        = storetest.RanTo
	newWorker    = storetest.NewWorker
	runOf        = storetest.RunOf
	wholeOutput  = storetest.WholeOutput
	record       = storetest.RecordHook
	input        = storetest.Input
)

// TestStore holds this store to what every store does; the other tests are about PostgreSQL.
func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		db := open(t)
		return storetest.Harness{
			Store: db,
			SetHost: func(t testing.TB, host, dataRoot string) {
				if err := db.Heartbeat(t.Context(), Host{ID: host, DataRoot: dataRoot}); err != nil {
					t.Fatal(err)
				}
			},
			Line: func(t testing.TB, first *daemon.Agent, n int) {
				_, err := db.pool.Exec(t.Context(), `INSERT INTO agents SELECT (jsonb_populate_record(agents, jsonb_build_object(
						'id', id + n, 'previous_agent_id', id + n - 1, 'tmux_session', 'line-' || n))).*
					FROM agents, generate_series(1, $1) AS n WHERE id = $2`, n, first.ID)
				if err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}
