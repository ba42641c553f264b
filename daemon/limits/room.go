package limits

import (
	"context"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/intake"
)

// Room sees to the limits of a daemon's agents. Its methods are safe for concurrent use.
type Room struct {
	env   *handoffs.Flow
	store Store
}

// Store is what the room reads.
type Store interface {
	daemon.AgentReader
	Delivery(ctx context.Context, id int64) (daemon.Delivery, error)
	Handoff(ctx context.Context, id int64) (daemon.Handoff, error)
}

// Join makes the room of a daemon. Call it before the daemon runs.
func Join(d *intake.Daemon) *Room {
	r := &Room{store: d.Store}
	r.env = d.Flow
	engine.Join(d.Engine, engine.Part{
		Start: r.wakeLimited,
		Duties: []engine.Duty{
			{Name: "seeToLimit", Why: "It may request a handoff or queue a prompt.", Place: engine.AtLimit, When: (*daemon.Agent).NotStopping, Do: r.seeToLimit},
			{Name: "resumeAfterReset", Why: "A session that died while it waited for a reset is opened again.", Place: engine.AfterTheEnd, When: waitsAfterEnd, Do: r.resumeAfterReset},
		},
	})
	return r
}
