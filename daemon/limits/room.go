package limits

import (
	"context"

	"github.com/understudyd/understudy/daemon"
)

// Room sees to the limits of a daemon's agents. Its methods are safe for concurrent use.
type Room struct {
	env   daemon.Env
	store Store
}

// Store is what the room reads.
type Store interface {
	daemon.AgentReader
	Delivery(ctx context.Context, id int64) (daemon.Delivery, error)
	Handoff(ctx context.Context, id int64) (daemon.Handoff, error)
}

// Join makes the room of a daemon. Call it before the daemon runs.
func Join(d *daemon.Daemon) *Room {
	r := &Room{store: d.Store}
	r.env = daemon.Join(d, daemon.Part{
		Start: r.wakeLimited,
		Duties: []daemon.Duty{
			{Name: "seeToLimit", Why: "It may request a handoff or queue a prompt.", Place: daemon.AtLimit, When: (*daemon.Agent).NotStopping, Do: r.seeToLimit},
			{Name: "resumeAfterReset", Why: "A session that died while it waited for a reset is opened again.", Place: daemon.AfterTheEnd, When: waitsAfterEnd, Do: r.resumeAfterReset},
		},
	})
	return r
}
