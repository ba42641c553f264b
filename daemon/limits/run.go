package limits

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/words"
)

const (
	// resetMargin is how long after the reset the daemon prompts an agent. The clocks of two machines differ a little.
	resetMargin = 15 * time.Second
	// continuesWithin is how long after the reset a runtime that goes on by itself has done so at the latest. Claude Code does
	// so after 80 s (seen with 2.1.330). It names the reset in whole minutes, so the reset itself may be a minute later.
	continuesWithin = 5 * time.Minute
)

// seeToLimit does what is due about an agent's limit. It decides by the policy first, and commits the decision; then it
// does what was decided. While a handoff is open, the handoff decides what happens.
func (r *Room) seeToLimit(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	fails, retries := a.APIFails(), retries(a)
	if !fails && !retries && (a.State != daemon.Limited || a.Limit == nil) {
		return false, 0, nil
	}
	if _, open, err := r.env.OpenHandoff(ctx, a.ID); err != nil || open {
		return false, 0, err
	}
	switch {
	case fails:
		return r.limitByAPI(ctx, a)
	case retries:
		return r.endRetries(ctx, a)
	}
	switch a.Limit.Do {
	case daemon.LimitUndecided:
		return r.decideLimit(ctx, a)
	case daemon.LimitWait:
		return r.waitForReset(ctx, a)
	case daemon.LimitHandOver:
		return r.handOverLimited(ctx, a)
	}
	return false, 0, nil
}

// limitByAPI makes a limit of an API that has failed for longer than LimitSettings.APITimeout, without a good turn since.
func (r *Room) limitByAPI(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	if left := r.env.TimeLeft(a.Trouble.Since, r.env.Settings().Limits.APITimeout); left > 0 {
		return false, min(left, daemon.LimitLook), nil
	}
	now := r.env.Now()
	a.ReachLimit(daemon.LimitAPI, &now, now)
	a.Be(daemon.Limited, now)
	c := daemon.Change{Agents: []*daemon.Agent{a}, Events: []*event.Event{r.env.Facts().StateEvent(a, map[string]any{"kind": daemon.LimitAPI})}}
	if err := r.env.Commit(ctx, &c); err != nil {
		return false, 0, fmt.Errorf("agent %d: limit of its API: %w", a.ID, err)
	}
	return true, 0, nil
}

// decideLimit decides by the policy what is done about a limit, and commits that.
func (r *Room) decideLimit(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	l, policy := *a.Limit, r.env.FactsFor(a).LimitPolicy(a)
	l.Do, l.By = policy.OnLimit, daemon.LimitByPolicy
	switch l.Do {
	case daemon.LimitWait:
		if l.Kind == daemon.LimitContext {
			l.Do, l.Why = daemon.LimitAsk, "waiting does not make room in a context window"
		} else if l.Waits >= policy.MaxWaits {
			l.Do, l.Why = daemon.LimitAsk, fmt.Sprintf("it has waited %d times in a row", l.Waits)
		}
	case daemon.LimitHandOver:
		why := whyNoHandoff(a)
		if why == "" {
			var err error
			if _, why, err = r.heirRuntime(ctx, a, &l); err != nil {
				return false, 0, err
			}
		}
		if why != "" {
			l.Do, l.Why = daemon.LimitAsk, "it can't be handed over: "+why
		}
	}
	return r.commitDecision(ctx, a, l)
}

// commitDecision commits what is done about an agent's limit.
func (r *Room) commitDecision(ctx context.Context, a *daemon.Agent, l daemon.Limit) (bool, time.Duration, error) {
	a.Limit = &l
	if err := r.env.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}, Events: []*event.Event{r.decidedEvent(a)}}); err != nil {
		return false, 0, fmt.Errorf("agent %d: limit: %w", a.ID, err)
	}
	return true, 0, nil
}

// askAbout has a person decide, because what was decided before cannot be done. quiet says that the person knows already.
func (r *Room) askAbout(ctx context.Context, a *daemon.Agent, why string, quiet bool) (bool, time.Duration, error) {
	l := *a.Limit
	l.Do, l.By, l.Why = daemon.LimitAsk, daemon.LimitByPolicy, why
	if !quiet {
		return r.commitDecision(ctx, a, l)
	}
	a.Limit = &l
	if err := r.env.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}}); err != nil {
		return false, 0, fmt.Errorf("agent %d: limit: %w", a.ID, err)
	}
	return true, 0, nil
}

// waitForReset queues one prompt after the reset. If the runtime goes on by itself, it leaves the agent alone until the
// runtime should have done so.
func (r *Room) waitForReset(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	l := a.Limit
	if l.DeliveryID != nil {
		dl, err := r.store.Delivery(ctx, *l.DeliveryID)
		switch {
		case err != nil:
			return false, 0, fmt.Errorf("agent %d: delivery %d: %w", a.ID, *l.DeliveryID, err)
		case dl.Verdict == nil || dl.Has(daemon.Submitted):
			return false, 0, nil
		}
		return r.askAbout(ctx, a, "it has not taken the prompt after the reset ("+dl.Evidence+")", true)
	}
	if left := r.untilPrompt(a); left > 0 {
		return false, min(left, daemon.LimitLook), nil
	}
	if r.env.Look(a).Busy() {
		return false, time.Second, nil // it goes on, and its state will say so
	}
	dl, err := r.env.NewMessage(ctx, a.ID, prompt(l), false)
	if err != nil {
		return false, 0, fmt.Errorf("agent %d: prompt after the reset: %w", a.ID, err)
	}
	dl.Kind = daemon.KindGoOn
	next := *l
	next.DeliveryID, a.Limit = &dl.ID, &next
	e := engine.EventAbout(r.env.Engine, event.DeliveryQueued, a, map[string]any{"delivery_id": dl.ID, "kind": dl.Kind})
	if err := r.env.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}, NewDeliveries: []*daemon.Delivery{dl}, Events: []*event.Event{e}}); err != nil {
		return false, 0, fmt.Errorf("agent %d: prompt after the reset: %w", a.ID, err)
	}
	return true, 0, nil
}

// untilPrompt returns how long it takes until an agent is prompted after its reset. After the reset only time counts in which
// this daemon was there: the machine may have slept before, and the runtime with it.
func (r *Room) untilPrompt(a *daemon.Agent) time.Duration {
	l, now := a.Limit, r.env.Now()
	reset, patience := l.Since.Add(daemon.UnknownReset), resetMargin
	if l.Until != nil {
		reset = *l.Until
	}
	if r.env.RuntimeOf(a).Can.Continues && l.Kind == daemon.LimitUsage && a.Active() {
		patience = continuesWithin
	}
	if l.ResumingAt != nil && l.ResumingAt.After(reset) {
		reset = *l.ResumingAt
	}
	if left := reset.Sub(now); left > 0 {
		return left
	}
	if l.Kind == daemon.LimitAPI {
		return 0
	}
	if began := r.env.Began(); began.After(reset) {
		reset = began
	}
	return r.env.TimeLeft(reset, patience)
}

// prompt is what an agent is told after the reset.
func prompt(l *daemon.Limit) string {
	what := "Your usage limit has ended."
	if l.Kind == daemon.LimitAPI {
		what = "Your last turn ended with an error of the API, which may be over."
	}
	return what + " Go on with the task that you were working on; do not repeat work that is complete."
}

// whyNoHandoff says why an agent cannot be handed over at all; "": it can.
func whyNoHandoff(a *daemon.Agent) string {
	switch {
	case a.Persona == nil:
		return "it has no persona"
	case !a.HasPane():
		return "it has no tmux pane"
	}
	return ""
}

// handOverLimited requests the handoff that was decided. The request is committed together with [Limit.HandoffID], so there
// is one for each decision.
func (r *Room) handOverLimited(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	l := a.Limit
	if l.HandoffID != nil {
		return r.afterLimitHandoff(ctx, a)
	}
	runtime, why, err := r.heirRuntime(ctx, a, l)
	switch {
	case err != nil:
		return false, 0, err
	case why != "":
		return r.askAbout(ctx, a, "it can't be handed over: "+why, false)
	}
	_, err = r.env.RequestHandoff(ctx, a.ID, handoffs.HandoffRequest{
		Reason: daemon.ReasonLimit, Mode: daemon.ModeTranscript, Force: true, Heirs: []daemon.Heir{{Runtime: runtime}}, ForLimit: true,
	})
	switch told := daemon.RefusalIn(err); {
	case told != nil:
		if told.Code == daemon.CodeAgentNotLimited {
			return true, 0, nil // the agent has gone on since its row was read: no duty may go on with that row
		}
		return r.askAbout(ctx, a, "it can't be handed over: "+words.TrimDot(told.Message), false)
	case err != nil:
		return false, 0, fmt.Errorf("agent %d: handoff because of a limit: %w", a.ID, err)
	}
	return true, 0, nil
}

// afterLimitHandoff has a person decide if the handoff of an agent with a limit has ended without a successor. The handoff
// has told the operator why.
func (r *Room) afterLimitHandoff(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	h, err := r.store.Handoff(ctx, *a.Limit.HandoffID)
	switch {
	case err != nil:
		return false, 0, fmt.Errorf("agent %d: handoff %d: %w", a.ID, *a.Limit.HandoffID, err)
	case h.Open() || h.RecordedAt != nil:
		return false, 0, nil
	}
	return r.askAbout(ctx, a, fmt.Sprintf("its handoff %d is %s", h.ID, h.Status), true)
}

// HeirRuntime returns the runtime for the successor of an agent with a limit: the one that the operator chose, else the
// first of the policy's fallback that can run and is not limited. A context window that is full is a new one in a successor
// on the same runtime, which therefore comes first. why says why there is none.
func (r *Room) heirRuntime(ctx context.Context, a *daemon.Agent, l *daemon.Limit) (name, why string, err error) {
	if l.Runtime != "" {
		return l.Runtime, "", nil
	}
	limited, err := r.limitedRuntimes(ctx)
	if err != nil {
		return "", "", err
	}
	candidates := r.env.FactsFor(a).LimitPolicy(a).Fallback
	if l.Kind == daemon.LimitContext {
		candidates = slices.Concat([]string{a.Runtime}, candidates)
	}
	var not []string
	for _, name := range candidates {
		until, is := limited[name]
		told := r.env.CheckRuntime(name)
		switch {
		case l.Kind != daemon.LimitContext && name == a.Runtime:
		case told != nil:
			not = append(not, words.TrimDot(told.Error()))
		case is && until == nil:
			not = append(not, name+" is limited")
		case is:
			not = append(not, name+" is limited until "+until.UTC().Format("Jan 2 15:04 UTC"))
		default:
			return name, "", nil
		}
	}
	if len(not) == 0 {
		return "", "no other runtime is named as its fallback (limits.fallback in config.yaml, or fallback in the persona's skill.md)", nil
	}
	return "", strings.Join(not, "; "), nil
}

// limitedRuntimes returns the runtimes that agents of this host have hit a limit of, with the times at which the limits end;
// nil: that is not known. An agent that has ended counts until its limit ends: its successor must not go back to it.
func (r *Room) limitedRuntimes(ctx context.Context) (map[string]*time.Time, error) {
	active, err := r.env.Roster.Agents(ctx)
	if err != nil {
		return nil, err
	}
	ended, err := r.store.Agents(ctx, daemon.AgentFilter{Lately: true, Limit: 200})
	if err != nil {
		return nil, err
	}
	limited, now := map[string]*time.Time{}, r.env.Now()
	for _, a := range slices.Concat(active, ended) {
		l := a.Limit
		switch {
		case l == nil || l.Kind == daemon.LimitContext || a.Host != r.env.Host || l.TriedAt != nil:
		case a.Active() && (l.Until == nil || l.Kind == daemon.LimitAPI): // its next try is no time at which the API is back
			limited[a.Runtime] = nil
		case l.Until == nil || !now.Before(*l.Until):
		default:
			if other, is := limited[a.Runtime]; !is || other != nil && other.Before(*l.Until) {
				limited[a.Runtime] = l.Until
			}
		}
	}
	return limited, nil
}
