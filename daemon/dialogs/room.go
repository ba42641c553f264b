package dialogs

import (
	"context"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/intake"
)

// Room answers dialogs and types keys for the agents of a daemon. Its methods are safe for concurrent use.
type Room struct {
	env   *agents.Supervisor
	store Store
	keys  keySessions
}

// Store is what the room reads.
type Store interface {
	Agent(ctx context.Context, id int64) (daemon.Agent, error)
	Permissions(ctx context.Context, f daemon.PermissionFilter) ([]daemon.Permission, error)
	OpenDeliveries(ctx context.Context, agentID int64) ([]daemon.Delivery, error)
}

// Join makes the room of a daemon. Call it before the daemon runs.
func Join(d *intake.Daemon) *Room {
	r := &Room{store: d.Store}
	r.env = d.Supervisor
	engine.Join(d.Engine, engine.Part{Duties: []engine.Duty{
		{Name: "pressChoice", Why: "The operator has answered the dialog, and it may open another one.", Place: engine.BeforeTyping, When: answersDialog, Do: r.pressChoice},
		{Name: "typeKeys", Why: "Keys from a browser come in the order in which a person typed them.", Place: engine.BeforeTyping, When: takesKeys, Do: r.typeKeys},
	}})
	return r
}
