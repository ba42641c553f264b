package limits

import (
	"context"
	"fmt"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

// LimitDecision is what a person decides about an agent's limit.
type LimitDecision struct {
	Do      daemon.LimitAction `json:"do"`                // LimitWait or LimitHandOver
	Runtime string             `json:"runtime,omitempty"` // with LimitHandOver: the runtime of the successor; "": the first of the fallback that is not limited
}

// DecideLimit commits what a person decides about the limit of an agent. The agent's lane does it. A decision replaces the
// one before, as long as no handoff is open. To decide the same again changes nothing.
func (r *Room) DecideLimit(ctx context.Context, id int64, in LimitDecision) (daemon.Agent, error) {
	switch {
	case in.Do != daemon.LimitWait && in.Do != daemon.LimitHandOver:
		return daemon.Agent{}, daemon.Errorf(daemon.KindInvalid, daemon.CodeBadDecision, "do must be wait or hand_over")
	case in.Runtime != "" && in.Do != daemon.LimitHandOver:
		return daemon.Agent{}, daemon.Errorf(daemon.KindInvalid, daemon.CodeBadDecision, "runtime goes with do: hand_over only")
	}
	return r.env.UpdateAgent(ctx, id, func(a *daemon.Agent, c *daemon.Change) error {
		switch {
		case a.State != daemon.Limited || a.Limit == nil:
			return daemon.Errorf(daemon.KindConflict, daemon.CodeAgentNotLimited, "Agent is not limited: it is %s", a.State)
		case a.StopAskedAt != nil:
			return daemon.ErrAgentStopping
		}
		if _, open, err := r.env.OpenHandoff(ctx, id); err != nil {
			return err
		} else if open {
			return daemon.ErrHandoffOpen
		}
		l := *a.Limit
		if l.Do == in.Do && l.Runtime == in.Runtime {
			return nil
		}
		l.Do, l.By, l.Why, l.Runtime, l.DeliveryID, l.HandoffID = in.Do, daemon.LimitByOperator, "", in.Runtime, nil, nil
		if err := r.checkDecision(ctx, a, &l); err != nil {
			return err
		}
		a.Limit = &l
		c.Events = []*event.Event{r.decidedEvent(a)}
		return nil
	})
}

// checkDecision refuses a decision that the agent's lane could not carry out. What another host can run only that host knows.
func (r *Room) checkDecision(ctx context.Context, a *daemon.Agent, l *daemon.Limit) error {
	if l.Do == daemon.LimitWait {
		if l.Kind == daemon.LimitContext {
			return daemon.Errorf(daemon.KindConflict, daemon.CodeNothingToWaitFor, "Waiting does not make room in a context window: hand the agent over with `understudy agent limit %d --hand-over`", a.ID)
		}
		return nil
	}
	switch {
	case a.Persona == nil:
		return daemon.ErrAgentNoPersona
	case !a.HasPane():
		return daemon.ErrAgentNoPane
	case a.Host != r.env.Host:
		return nil
	case l.Runtime != "":
		return r.env.CheckRuntime(l.Runtime)
	}
	_, why, err := r.heirRuntime(ctx, a, l)
	if err == nil && why != "" {
		err = daemon.Errorf(daemon.KindConflict, daemon.CodeNoFallback, "%s", fmt.Sprintf("Agent can't be handed over: %s; name a runtime with `--runtime`", why))
	}
	return err
}

// decidedEvent makes the event of a decision about an agent's limit. It is a notice. A pipeline whose step fails by the
// limit reports that itself.
func (r *Room) decidedEvent(a *daemon.Agent) *event.Event {
	l := a.Limit
	text := ""
	if a.Trouble != nil && a.Trouble.Message != "" {
		text = " " + words.Quote(a.Trouble.Message)
	}
	e := engine.EventAbout(r.env.Engine, event.AgentLimitDecided, a, map[string]any{
		"kind": l.Kind, "until": l.Until, "do": l.Do, "by": l.By, "why": l.Why, "waits": l.Waits, "agent_name": a.Name,
		"message": fmt.Sprintf("Agent %d (%s) %s%s: %s.", a.ID, a.Name, views.HasHit(l), text, views.LimitWords(a)),
	})
	if l.By == daemon.LimitByPolicy && (a.PipelineID == nil || l.Do != daemon.LimitAsk) {
		e.Notice, e.Cause = event.NoticeWaiting, event.CauseLimit+string(l.Kind)+" "+string(l.Do)
	}
	return e
}
