package db

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/db/dbtest"
)

// TestMetadataIsStoredWithoutNulls reads the stored column, because people query it themselves.
func TestMetadataIsStoredWithoutNulls(t *testing.T) {
	t.Parallel()
	db := open(t)
	p := newRun(t, db, 2, nil)
	a := newWorker(t, db, p, 0)
	for i, tt := range []struct {
		metadata *daemon.Metadata
		want     *string
	}{
		{&daemon.Metadata{DecisionsMade: new("null")}, new(`{"decisions_made": "null"}`)},
		{nil, nil},
	} {
		o := wholeOutput(t, db, p.Steps[i].ID, a.ID)
		o.Metadata = tt.metadata
		commit(t, db, &daemon.Change{NewOutput: o})
		var got *string
		must(t, db.pool.QueryRow(t.Context(), "SELECT metadata::text FROM step_handoffs WHERE id = $1", o.ID).Scan(&got))
		equal(t, "metadata", got, tt.want)
		equal(t, "read", runOf(t, db, p.ID).Steps[i].LatestHandoff, o)
	}
}

// selects counts the SELECTs that a connection sends.
type selects struct{ n atomic.Int64 }

func (s *selects) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if strings.HasPrefix(q.SQL, "SELECT") {
		s.n.Add(1)
	}
	return ctx
}

func (s *selects) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func TestListOfPipelinesIsTwoStatements(t *testing.T) {
	t.Parallel()
	var sent selects
	db := opened(t, Config{
		ConnString: dbtest.New(t, Migrate),
		Configure:  func(c *pgx.ConnConfig) { c.Tracer = &sent },
	})
	for range 5 {
		newWorker(t, db, newRun(t, db, 3, nil), 1)
	}
	sent.n.Store(0)
	runs := value(db.Pipelines(t.Context(), daemon.PipelineFilter{}))(t)
	if n := sent.n.Load(); len(runs) != 5 || n != 2 {
		t.Errorf("%d runs by %d statements, want 5 by 2", len(runs), n)
	}
}
