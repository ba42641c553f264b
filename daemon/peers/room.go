package peers

import (
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/intake"
)

// Room brings texts from one agent to another. Its methods are safe for concurrent use.
type Room struct{ *agents.Supervisor }

// New makes the room of a daemon.
func New(d *intake.Daemon) *Room { return &Room{d.Supervisor} }
