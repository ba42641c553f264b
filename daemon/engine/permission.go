package engine

import (
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// permissionEvent makes an event about a permission. It does not contain all that was shown.
func (f *Facts) permissionEvent(typ event.Type, p *daemon.Permission, a *daemon.Agent) *event.Event {
	return f.event(typ, &p.AgentID, nil, map[string]any{
		"permission_id": p.ID, "tool": p.Tool, "subject": p.Subject, "digest": p.Digest, "state": p.State, "verdict": p.Verdict,
		"by": p.AnsweredBy, "from": p.From, "sentence": p.Sentence, "outcome": p.Outcome(),
	}).For(a.PipelineID, a.StepID)
}
