package dashboard

import (
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
)

const (
	maxLine   = 20  // agents before one, and as many after it
	maxPlayed = 100 // agents, and handoffs, of one persona
)

// generation is an agent as one of its line.
type generation struct {
	daemon.Agent
	Handoff *daemon.Handoff // by which its work went on, or was to; nil: there is none
	Use     *daemon.ContextUse
	This    bool // the page is about it
	Now     time.Time
}

// generations are those of a line, whose agents were all read, the newest first. this is the agent that the page is
// about; 0: none.
func generations(line []daemon.Generation, this int64, now time.Time) (out []generation) {
	for _, g := range slices.Backward(line) {
		out = append(out, generation{*g.Agent, g.Handoff, g.ContextUse(), g.AgentID == this, now})
	}
	return out
}
