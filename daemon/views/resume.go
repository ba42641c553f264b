package views

import (
	"fmt"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon"
)

// Resumption says what became of one ended agent whose session was to be opened again.
type Resumption struct {
	AgentID int64         `json:"agent_id"`
	Name    string        `json:"name"`
	Started *daemon.Agent `json:"started"` // the agent that goes on; null: there is none, and Error says why
	Error   *Refusal      `json:"error"`
}

// Refusal is an [Error] of one of several things that were asked for at once.
type Refusal struct {
	Code    daemon.Code `json:"code"`
	Message string      `json:"message"`
}

// ToResume returns the ended agents that died lately and whose work nobody goes on with, by their ids. said are those that died
// and whose handoff failed: the handoff decides how their work goes on.
func (o *Overview) ToResume() (dead []*daemon.Agent, said []Resumption) {
	byID := map[int64]*daemon.Agent{}
	for i := range o.Ended {
		byID[o.Ended[i].ID] = &o.Ended[i]
	}
	for _, n := range o.Attention() {
		switch {
		case n.About == AboutHandoff && n.Agent != nil && n.Agent.LeavesWork() && n.Handoff.RecordedAt == nil:
			said = append(said, Resumption{AgentID: n.Agent.ID, Name: n.Agent.Name, Error: &Refusal{
				Code: daemon.CodeHandoffFailed, Message: fmt.Sprintf("Agent's handoff %d failed with it, and decides how its work goes on: %s", n.Handoff.ID, n.Next)}})
		case n.Kind != NeedsHeir || n.About != AboutAgent:
		case len(n.Together) > 0:
			for _, id := range n.Together {
				dead = append(dead, byID[id])
			}
		default:
			dead = append(dead, n.Agent)
		}
	}
	slices.SortFunc(dead, func(a, b *daemon.Agent) int { return int(a.ID - b.ID) })
	return dead, said
}

// StartCommand is the command that starts an agent of the same persona.
func StartCommand(a *daemon.Agent) string {
	return strings.TrimSpace("understudy agent start " + a.PersonaSlug())
}
