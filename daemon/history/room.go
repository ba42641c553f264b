package history

import (
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/intake"
)

// Room deletes what is not kept. Its methods are safe for concurrent use.
type Room struct{ *agents.Supervisor }

// Join makes the room of a daemon. Call it before the daemon runs.
func Join(d *intake.Daemon) *Room {
	r := &Room{d.Supervisor}
	engine.Join(d.Engine, engine.Part{Runs: []engine.Run{{Name: "retention", Do: r.runRetention}}})
	return r
}
