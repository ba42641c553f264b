package pipelines

import (
	"context"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/intake"
	"github.com/understudyd/understudy/personas"
)

// Room runs the pipelines of a daemon. Its methods are safe for concurrent use.
type Room struct {
	env       *handoffs.Flow
	store     Store
	personas  *personas.Store
	templates *personas.Templates
}

// Store is what the room reads.
type Store interface {
	daemon.PipelineReader
	daemon.AgentReader
	daemon.HandoffReader
	daemon.DeliveryReader
	daemon.WorktreeReader
	NextID(ctx context.Context, kind daemon.IDKind) (int64, error)
	Events(ctx context.Context, f event.Filter) ([]event.Event, error)
	StoredHook(ctx context.Context, id int64) (daemon.StoredHook, error)
}

// Join makes the room of a daemon. Call it before the daemon runs.
func Join(d *intake.Daemon) *Room {
	r := &Room{store: d.Store, personas: d.Personas, templates: d.Templates}
	r.env = d.Flow
	engine.Join(d.Engine, engine.Part{
		Lanes:   []engine.Lane{{Kind: engine.PipelineLane, Do: r.workPipeline}},
		Resumed: r.resumePipelines,
	})
	return r
}
