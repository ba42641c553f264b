package permissions

import (
	"context"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/intake"
)

// Room answers the permissions of a daemon's agents. Its methods are safe for concurrent use.
type Room struct {
	env    *agents.Supervisor
	store  Store
	asking held
}

// Store is what the room reads.
type Store interface {
	daemon.PermissionReader
	Agent(ctx context.Context, id int64) (daemon.Agent, error)
}

// Join makes the room of a daemon. Call it before the daemon runs.
func Join(d *intake.Daemon) *Room {
	r := &Room{store: d.Store}
	r.env = d.Supervisor
	engine.Join(d.Engine, engine.Part{
		Runs:  []engine.Run{{Name: "permissions", Do: r.endLeft}},
		Asked: func(p *daemon.Permission) { r.asking.note(p, r.env.Now()) },
		Hold:  r.hold,
	})
	return r
}
