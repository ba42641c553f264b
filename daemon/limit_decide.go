package daemon

import (
	"context"
	"fmt"
	"strings"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/personas"
)

// checkFallback refuses a persona whose fallback names a runtime that is not known or has no command. A runtime that is not
// installed now may be installed when it is needed.
func (d *Daemon) checkFallback(p *personas.Persona) error {
	for name := range strings.SplitSeq(p.Fallback, ",") {
		_, known := runtimes.For(name)
		switch _, configured := d.Settings().Runtimes[name]; {
		case name == "":
		case known != nil:
			return Errorf(KindUnprocessable, CodeUnknownRuntime, "Persona %s names %q as its fallback, which is no known runtime: correct the line fallback in its skill.md", p.Slug, name)
		case !configured:
			return Errorf(KindUnprocessable, CodeUnknownRuntime, "Persona %s names %q as its fallback, which is not configured: set runtimes.%s.command in config.yaml", p.Slug, name, name)
		}
	}
	return nil
}

// LimitDecision is what a person decides about an agent's limit.
type LimitDecision struct {
	Do      LimitAction // LimitWait or LimitHandOver
	Runtime string      // with LimitHandOver: the runtime of the successor; "": the first of the fallback that is not limited
}

// DecideLimit commits what a person decides about the limit of an agent. The agent's lane does it. A decision replaces the
// one before, as long as no handoff is open. To decide the same again changes nothing.
func (d *Daemon) DecideLimit(ctx context.Context, id int64, in LimitDecision) (Agent, error) {
	switch {
	case in.Do != LimitWait && in.Do != LimitHandOver:
		return Agent{}, Errorf(KindInvalid, CodeBadDecision, "do must be wait or hand_over")
	case in.Runtime != "" && in.Do != LimitHandOver:
		return Agent{}, Errorf(KindInvalid, CodeBadDecision, "runtime goes with do: hand_over only")
	}
	return d.updateAgent(ctx, id, func(a *Agent, c *Change) error {
		switch {
		case a.State != Limited || a.Limit == nil:
			return Errorf(KindConflict, CodeAgentNotLimited, "Agent is not limited: it is %s", a.State)
		case a.StopAskedAt != nil:
			return errAgentStopping
		}
		if _, open, err := d.openHandoff(ctx, id); err != nil {
			return err
		} else if open {
			return errHandoffOpen
		}
		l := *a.Limit
		if l.Do == in.Do && l.Runtime == in.Runtime {
			return nil
		}
		l.Do, l.By, l.Why, l.Runtime, l.DeliveryID, l.HandoffID = in.Do, LimitByOperator, "", in.Runtime, nil, nil
		if err := d.checkDecision(ctx, a, &l); err != nil {
			return err
		}
		a.Limit = &l
		c.Events = []*event.Event{d.decidedEvent(a)}
		return nil
	})
}

// checkDecision refuses a decision that the agent's lane could not carry out. What another host can run only that host knows.
func (d *Daemon) checkDecision(ctx context.Context, a *Agent, l *Limit) error {
	if l.Do == LimitWait {
		if l.Kind == LimitContext {
			return Errorf(KindConflict, CodeNothingToWaitFor, "Waiting does not make room in a context window: hand the agent over with `understudy agent limit %d --hand-over`", a.ID)
		}
		return nil
	}
	switch {
	case a.Persona == nil:
		return errAgentNoPersona
	case !a.HasPane():
		return errAgentNoPane
	case a.Host != d.Host:
		return nil
	case l.Runtime != "":
		return d.checkRuntime(l.Runtime)
	}
	_, why, err := d.heirRuntime(ctx, a, l)
	if err == nil && why != "" {
		err = Errorf(KindConflict, CodeNoFallback, "%s", fmt.Sprintf("Agent can't be handed over: %s; name a runtime with `--runtime`", why))
	}
	return err
}
