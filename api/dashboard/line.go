package dashboard

import (
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
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
	// From and Plays are set in a line that branches, or in which several personas play.
	From  *int64 // the agent whose work it took over
	Plays string // its persona
	Now   time.Time
}

// generations returns the agents of a line, the newest first. this is the id of the agent that the page is about, or 0 if
// the page is about no agent.
func generations(line []views.Generation, this int64, now time.Time) (out []generation) {
	branches, seen, first := false, map[int]bool{}, ""
	for i := range line {
		g := &line[i]
		if i == 0 {
			first = g.Agent.PersonaSlug()
		}
		branches = branches || seen[g.N] || g.Agent.PersonaSlug() != first
		seen[g.N] = true
	}
	for _, g := range slices.Backward(line) {
		row := generation{Agent: *g.Agent, Handoff: g.Handoff, Use: g.ContextUse(), This: g.AgentID == this, Now: now}
		if branches {
			row.From, row.Plays = g.Agent.PreviousAgentID, g.Agent.PersonaSlug()
		}
		out = append(out, row)
	}
	return out
}
