package engine

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/views"
)

// LimitPolicy returns the policy for an agent: that of its persona, over the settings.
func (f *Facts) LimitPolicy(a *daemon.Agent) daemon.LimitSettings {
	policy, p := f.Settings.Limits, f.persona(a)
	if p.OnLimit != "" {
		policy.OnLimit = daemon.LimitAction(p.OnLimit)
	}
	if p.Fallback != "" {
		policy.Fallback = strings.Split(p.Fallback, ",")
	}
	return policy
}

// SeesToLimit reports whether the agent's lane does something about a limit of the agent, or about an API that fails, so that
// the work goes on without a person.
func (f *Facts) SeesToLimit(a *daemon.Agent) bool {
	switch {
	case !a.Active() || a.StopAskedAt != nil:
		return false
	case a.APIFails():
		return f.LimitPolicy(a).OnLimit != daemon.LimitAsk
	}
	return a.State == daemon.Limited && a.Limit != nil && a.Limit.Do != daemon.LimitAsk
}

// PermissionEvent makes an event about a permission. It does not contain all that was shown.
func (f *Facts) PermissionEvent(typ event.Type, p *daemon.Permission, a *daemon.Agent) *event.Event {
	return f.Event(typ, &p.AgentID, nil, map[string]any{
		"permission_id": p.ID, "tool": p.Tool, "subject": p.Subject, "digest": p.Digest, "state": p.State, "verdict": p.Verdict,
		"by": p.AnsweredBy, "from": p.From, "sentence": p.Sentence, "outcome": views.PermissionOutcome(p),
	}).For(a.PipelineID, a.StepID)
}

// NotifiesFinished reports whether the operator is notified when the agent has finished a turn: as the agent says, else as its
// persona says.
func (f *Facts) NotifiesFinished(a *daemon.Agent) bool {
	return cmp.Or(a.NotifyFinished, f.persona(a).NotifyFinished) == "on"
}

// StateEvent makes the event of an agent's new state. If the agent waits, the event says for what, and is a notice
// unless the agent works for a pipeline, which has a notice of its own.
func (f *Facts) StateEvent(a *daemon.Agent, payload map[string]any) *event.Event {
	if a.State == daemon.Limited {
		payload["kind"], payload["until"] = a.Limit.Kind, a.LimitedUntil
	}
	e := f.Event(event.Of("agent", a.State), &a.ID, nil, payload).For(a.PipelineID, a.StepID)
	if a.State != daemon.Waiting {
		return e
	}
	asks := ""
	if a.WaitsFor != "" {
		asks = " ‹" + strings.NewReplacer("‹", "<", "›", ">").Replace(a.WaitsFor) + "›"
	}
	payload["waits_for"] = a.WaitsFor
	payload["message"] = fmt.Sprintf("Agent %d (%s) waits for you%s: %s.", a.ID, a.Name, asks, views.AnswerWith(a))
	if id, ok := payload["permission_id"]; ok {
		payload["message"] = fmt.Sprintf("Agent %d (%s) waits for you%s: `understudy permission show %d`.", a.ID, a.Name, asks, id)
	}
	e.Payload = event.Payload(payload)
	if a.PipelineID == nil {
		e.Notice = event.NoticeWaiting
	}
	return e
}
