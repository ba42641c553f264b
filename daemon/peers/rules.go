package peers

import (
	"github.com/understudyd/understudy/daemon"
)

// Peer is what an agent learns about another agent.
type Peer struct {
	ID      int64             `json:"id"`
	Name    string            `json:"name"`
	State   daemon.AgentState `json:"state"`
	Trouble string            `json:"trouble"` // the code of its trouble; "": it has none
}

// The limits on messages between agents. They limit the cost of two agents that answer each other without end. The
// messages are counted in the database, so a restart of the daemon does not reset the count.
const (
	MaxPeerText   = 4000 // characters
	MaxPeerOpen   = 5    // messages of one sender without a verdict
	MaxPeerRecent = 20   // messages of one sender in daemon.PeerWindow
)

func peerOf(a *daemon.Agent) Peer {
	p := Peer{ID: a.ID, Name: a.Name, State: a.State}
	if a.Trouble != nil {
		p.Trouble = a.Trouble.Code
	}
	return p
}
