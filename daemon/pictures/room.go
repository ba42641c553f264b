package pictures

import (
	"context"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/intake"
)

// Room draws pictures of what is known of a daemon. Its methods are safe for concurrent use.
type Room struct {
	env   *handoffs.Flow
	store Store
}

// Store is what the room reads.
type Store interface {
	AgentLives(ctx context.Context, q daemon.LifeQuery) ([]daemon.AgentLife, error)
	StateChanges(ctx context.Context, q daemon.SpanQuery) ([]daemon.StateChange, error)
	ContextSamples(ctx context.Context, q daemon.SpanQuery) ([]daemon.ContextSample, error)
	CompletedMetrics(ctx context.Context, except int64, limit int) ([]daemon.Metrics, error)
}

// Join makes the room of a daemon.
func Join(d *intake.Daemon) *Room { return &Room{env: d.Flow, store: d.Store} }
