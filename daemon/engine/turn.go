package engine

import (
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// endTrouble ends the trouble of an agent and returns the event, in which by says what ended the trouble; nil: the agent
// was in none. The Stop of a turn that ended well calls it, the RetryEnded, and the end of the agent.
func (f *Facts) endTrouble(a *daemon.Agent, by string) *event.Event {
	if a.Trouble == nil {
		return nil
	}
	e := f.event(event.AgentTroubleOver, &a.ID, nil, map[string]any{"code": a.Trouble.Code, "since": a.Trouble.Since, "by": by}).For(a.PipelineID, a.StepID)
	a.PassTrouble()
	return e
}
