package dashboard

import (
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
)

const (
	maxLine   = 20  // agents of a line that are shown before the page's agent, and after it
	maxPlayed = 100 // agents, and handoffs, that are shown of one persona
)

// generation is one agent of a line.
type generation struct {
	daemon.Agent
	Handoff *daemon.Handoff // the handoff, even if failed, from this agent to the next generation; nil: there is none
	Use     *daemon.ContextUse
	This    bool // the page is about this agent
	Now     time.Time
}

// generations returns the agents of a line, the newest first. this is the id of the agent that the page is about, or 0 if
// the page is about no agent.
func generations(line []daemon.Generation, this int64, now time.Time) (out []generation) {
	for _, g := range slices.Backward(line) {
		out = append(out, generation{*g.Agent, g.Handoff, g.ContextUse(), g.AgentID == this, now})
	}
	return out
}
