package daemon

import (
	"fmt"
	"slices"
	"strings"
)

// Resumption says what became of one ended agent whose session was to be opened again.
type Resumption struct {
	AgentID int64    `json:"agent_id"`
	Name    string   `json:"name"`
	Started *Agent   `json:"started"` // the agent that goes on; null: there is none, and Error says why
	Error   *Refusal `json:"error"`
}

// Refusal is an [Error] of one of several things that were asked for at once.
type Refusal struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// ToResume returns the ended agents that died lately and whose work nobody goes on with, by their ids. said are those that died
// and whose handoff failed: the handoff decides how their work goes on.
func (o *Overview) ToResume() (dead []*Agent, said []Resumption) {
	byID := map[int64]*Agent{}
	for i := range o.Ended {
		byID[o.Ended[i].ID] = &o.Ended[i]
	}
	for _, n := range o.Attention() {
		switch {
		case n.About == AboutHandoff && n.Agent != nil && n.Agent.LeavesWork() && n.Handoff.RecordedAt == nil:
			said = append(said, Resumption{AgentID: n.Agent.ID, Name: n.Agent.Name, Error: &Refusal{
				Code: CodeHandoffFailed, Message: fmt.Sprintf("Agent's handoff %d failed with it, and decides how its work goes on: %s", n.Handoff.ID, n.Next)}})
		case n.Kind != NeedsHeir || n.About != AboutAgent:
		case len(n.Together) > 0:
			for _, id := range n.Together {
				dead = append(dead, byID[id])
			}
		default:
			dead = append(dead, n.Agent)
		}
	}
	slices.SortFunc(dead, func(a, b *Agent) int { return int(a.ID - b.ID) })
	return dead, said
}

// GoesOnFrom takes over what is true of the session that the agent opens again until its first turn there: what it said last, how
// full its context is, and whether the operator has seen its last turn. ContextStart begins anew, so that no automatic handoff comes
// before the agent has done something. It is launched as old was, so its mode is taken to be the same until a hook tells it.
func (a *Agent) GoesOnFrom(old *Agent) {
	a.LastMessage, a.Context, a.SessionMode = old.LastMessage, old.Context, old.SessionMode
	if old.PipelineID == nil {
		a.Unread, a.FinishedAt = old.Unread, old.FinishedAt
	}
	if old.Hold.Is(HoldBrokeOff) && old.Hold.AgentID == 0 {
		a.HoldBy(Hold{Kind: HoldBrokeOff, HoldDetail: HoldDetail{AgentID: old.ID}}, a.CreatedAt)
	}
}

// ConversationGone reports whether it is known of an ended agent that its session cannot be opened again.
func (a *Agent) ConversationGone() bool { return !a.Active() && a.Hold.Is(HoldNoConversation) }

// HasSession reports whether an agent has a session that may be opened again once the agent has ended.
func (a *Agent) HasSession() bool {
	return a.SessionID != nil && a.RegisteredAt != nil && !a.ConversationGone()
}

// StartCommand is the command that starts an agent of the same persona.
func (a *Agent) StartCommand() string {
	return strings.TrimSpace("understudy agent start " + a.PersonaSlug())
}
