package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
)

// ReasonLimit is the reason of a handoff that the daemon requests for an agent with a limit.
const ReasonLimit = "usage_limit"

const (
	// resetMargin is how long after the reset the daemon prompts an agent. The clocks of two machines differ a little.
	resetMargin = 15 * time.Second
	// continuesWithin is how long after the reset a runtime that goes on by itself has done so at the latest. Claude Code does
	// so after 80 s (seen with 2.1.330). It names the reset in whole minutes, so the reset itself may be a minute later.
	continuesWithin = 5 * time.Minute
	// unknownReset is how long a limit is taken to last if the runtime did not say it.
	unknownReset = time.Hour
	// limitLook is how long a lane waits at most before it looks at a limit again. A timer does not go on while the machine
	// sleeps.
	limitLook = time.Minute
)

// seeToLimit does what is due about an agent's limit. It decides by the policy first, and commits the decision; then it
// does what was decided. While a handoff is open, the handoff decides what happens.
func (d *Daemon) seeToLimit(ctx context.Context, a *Agent) (bool, time.Duration, error) {
	fails, retries := a.apiFails(), a.retries()
	if !fails && !retries && (a.State != Limited || a.Limit == nil) {
		return false, 0, nil
	}
	if _, open, err := d.openHandoff(ctx, a.ID); err != nil || open {
		return false, 0, err
	}
	switch {
	case fails:
		return d.limitByAPI(ctx, a)
	case retries:
		return d.endRetries(ctx, a)
	}
	switch a.Limit.Do {
	case LimitUndecided:
		return d.decideLimit(ctx, a)
	case LimitWait:
		return d.waitForReset(ctx, a)
	case LimitHandOver:
		return d.handOverLimited(ctx, a)
	}
	return false, 0, nil
}

// apiFails reports whether an agent's last turn ended because the API did not answer, and no limit was noted for that.
func (a *Agent) apiFails() bool {
	return a.State == Idle && a.Limit == nil && a.Trouble != nil && a.TurnError != "" && runtimes.APIFails(a.Trouble.Code)
}

// seesToLimit reports whether the agent's lane does something about a limit of the agent, or about an API that fails, so that
// the work goes on without a person.
func (d *Daemon) seesToLimit(a *Agent) bool {
	switch {
	case !a.Active() || a.StopAskedAt != nil:
		return false
	case a.apiFails():
		return d.limitPolicy(a).OnLimit != LimitAsk
	}
	return a.State == Limited && a.Limit != nil && a.Limit.Do != LimitAsk
}

// limitOrTrouble says what keeps an agent from its work.
func (a *Agent) limitOrTrouble() string {
	if a.Limit == nil {
		return "gets an error from its API"
	}
	return a.Limit.What()
}

// limitByAPI makes a limit of an API that has failed for longer than LimitSettings.APITimeout, without a good turn since.
func (d *Daemon) limitByAPI(ctx context.Context, a *Agent) (bool, time.Duration, error) {
	if left := d.timeLeft(a.Trouble.Since, d.Settings().Limits.APITimeout); left > 0 {
		return false, min(left, limitLook), nil
	}
	now := d.now()
	a.reachLimit(LimitAPI, &now, now)
	a.be(Limited, now)
	c := Change{Agents: []*Agent{a}, Events: []*event.Event{d.facts().stateEvent(a, map[string]any{"kind": LimitAPI})}}
	if err := d.commit(ctx, &c); err != nil {
		return false, 0, fmt.Errorf("agent %d: limit of its API: %w", a.ID, err)
	}
	return true, 0, nil
}

// limitPolicy returns the policy for an agent: that of its persona, over the settings.
func (d *Daemon) limitPolicy(a *Agent) LimitSettings {
	policy := d.Settings().Limits
	if a.Persona == nil {
		return policy
	}
	p, err := d.Personas.Latest(*a.Persona)
	if err != nil {
		return policy
	}
	if p.OnLimit != "" {
		policy.OnLimit = LimitAction(p.OnLimit)
	}
	if p.Fallback != "" {
		policy.Fallback = strings.Split(p.Fallback, ",")
	}
	return policy
}

// decideLimit decides by the policy what is done about a limit, and commits that.
func (d *Daemon) decideLimit(ctx context.Context, a *Agent) (bool, time.Duration, error) {
	l, policy := *a.Limit, d.limitPolicy(a)
	l.Do, l.By = policy.OnLimit, LimitByPolicy
	switch l.Do {
	case LimitWait:
		if l.Kind == LimitContext {
			l.Do, l.Why = LimitAsk, "waiting does not make room in a context window"
		} else if l.Waits >= policy.MaxWaits {
			l.Do, l.Why = LimitAsk, fmt.Sprintf("it has waited %d times in a row", l.Waits)
		}
	case LimitHandOver:
		why := whyNoHandoff(a)
		if why == "" {
			var err error
			if _, why, err = d.heirRuntime(ctx, a, &l); err != nil {
				return false, 0, err
			}
		}
		if why != "" {
			l.Do, l.Why = LimitAsk, "it can't be handed over: "+why
		}
	}
	return d.commitDecision(ctx, a, l)
}

// commitDecision commits what is done about an agent's limit.
func (d *Daemon) commitDecision(ctx context.Context, a *Agent, l Limit) (bool, time.Duration, error) {
	a.Limit = &l
	if err := d.commit(ctx, &Change{Agents: []*Agent{a}, Events: []*event.Event{d.decidedEvent(a)}}); err != nil {
		return false, 0, fmt.Errorf("agent %d: limit: %w", a.ID, err)
	}
	return true, 0, nil
}

// askAbout has a person decide, because what was decided before cannot be done. quiet says that the person knows already.
func (d *Daemon) askAbout(ctx context.Context, a *Agent, why string, quiet bool) (bool, time.Duration, error) {
	l := *a.Limit
	l.Do, l.By, l.Why = LimitAsk, LimitByPolicy, why
	if !quiet {
		return d.commitDecision(ctx, a, l)
	}
	a.Limit = &l
	if err := d.commit(ctx, &Change{Agents: []*Agent{a}}); err != nil {
		return false, 0, fmt.Errorf("agent %d: limit: %w", a.ID, err)
	}
	return true, 0, nil
}

// waitForReset queues one prompt after the reset. If the runtime goes on by itself, it leaves the agent alone until the
// runtime should have done so.
func (d *Daemon) waitForReset(ctx context.Context, a *Agent) (bool, time.Duration, error) {
	l := a.Limit
	if l.DeliveryID != nil {
		dl, err := d.Store.Delivery(ctx, *l.DeliveryID)
		switch {
		case err != nil:
			return false, 0, fmt.Errorf("agent %d: delivery %d: %w", a.ID, *l.DeliveryID, err)
		case dl.Verdict == nil || dl.has(Submitted):
			return false, 0, nil
		}
		return d.askAbout(ctx, a, "it has not taken the prompt after the reset ("+dl.Evidence+")", true)
	}
	if left := d.untilPrompt(a); left > 0 {
		return false, min(left, limitLook), nil
	}
	if d.look(a).busy() {
		return false, time.Second, nil // it goes on, and its state will say so
	}
	dl, err := d.newMessage(ctx, a.ID, l.prompt(), false)
	if err != nil {
		return false, 0, fmt.Errorf("agent %d: prompt after the reset: %w", a.ID, err)
	}
	dl.Kind = KindGoOn
	next := *l
	next.DeliveryID, a.Limit = &dl.ID, &next
	e := d.event(event.DeliveryQueued, &a.ID, nil, map[string]any{"delivery_id": dl.ID, "kind": dl.Kind})
	if err := d.commit(ctx, &Change{Agents: []*Agent{a}, NewDeliveries: []*Delivery{dl}, Events: []*event.Event{e}}); err != nil {
		return false, 0, fmt.Errorf("agent %d: prompt after the reset: %w", a.ID, err)
	}
	return true, 0, nil
}

// untilPrompt returns how long it takes until an agent is prompted after its reset. After the reset only time counts in which
// this daemon was there: the machine may have slept before, and the runtime with it.
func (d *Daemon) untilPrompt(a *Agent) time.Duration {
	l, now := a.Limit, d.now()
	reset, patience := l.Since.Add(unknownReset), resetMargin
	if l.Until != nil {
		reset = *l.Until
	}
	if d.runtimeOf(a).Can.Continues && l.Kind == LimitUsage && a.Active() {
		patience = continuesWithin
	}
	if l.ResumingAt != nil && l.ResumingAt.After(reset) {
		reset = *l.ResumingAt
	}
	if left := reset.Sub(now); left > 0 {
		return left
	}
	if l.Kind == LimitAPI {
		return 0
	}
	d.mu.Lock()
	if d.runBegan.After(reset) {
		reset = d.runBegan
	}
	d.mu.Unlock()
	return d.timeLeft(reset, patience)
}

// prompt is what an agent is told after the reset.
func (l *Limit) prompt() string {
	what := "Your usage limit has ended."
	if l.Kind == LimitAPI {
		what = "Your last turn ended with an error of the API, which may be over."
	}
	return what + " Go on with the task that you were working on; do not repeat work that is complete."
}

// wantsGoOn reports whether the agent still needs the prompt after the reset. It does not if it has gone on by itself, or if
// a person has prompted it.
func (a *Agent) wantsGoOn(dl *Delivery) bool {
	return a.State == Limited && a.Limit != nil && a.Limit.DeliveryID != nil && *a.Limit.DeliveryID == dl.ID
}

// whyNoHandoff says why an agent cannot be handed over at all; "": it can.
func whyNoHandoff(a *Agent) string {
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
func (d *Daemon) handOverLimited(ctx context.Context, a *Agent) (bool, time.Duration, error) {
	l := a.Limit
	if l.HandoffID != nil {
		return d.afterLimitHandoff(ctx, a)
	}
	runtime, why, err := d.heirRuntime(ctx, a, l)
	switch {
	case err != nil:
		return false, 0, err
	case why != "":
		return d.askAbout(ctx, a, "it can't be handed over: "+why, false)
	}
	_, err = d.RequestHandoff(ctx, a.ID, HandoffRequest{
		Reason: ReasonLimit, Mode: ModeTranscript, Force: true, Heirs: []Heir{{Runtime: runtime}}, limit: true,
	})
	switch told := refusalIn(err); {
	case told != nil:
		if told.Code == CodeAgentNotLimited {
			return true, 0, nil // the agent has gone on since its row was read: no duty may go on with that row
		}
		return d.askAbout(ctx, a, "it can't be handed over: "+words.TrimDot(told.Message), false)
	case err != nil:
		return false, 0, fmt.Errorf("agent %d: handoff because of a limit: %w", a.ID, err)
	}
	return true, 0, nil
}

// afterLimitHandoff has a person decide if the handoff of an agent with a limit has ended without a successor. The handoff
// has told the operator why.
func (d *Daemon) afterLimitHandoff(ctx context.Context, a *Agent) (bool, time.Duration, error) {
	h, err := d.Store.Handoff(ctx, *a.Limit.HandoffID)
	switch {
	case err != nil:
		return false, 0, fmt.Errorf("agent %d: handoff %d: %w", a.ID, *a.Limit.HandoffID, err)
	case h.Open() || h.RecordedAt != nil:
		return false, 0, nil
	}
	return d.askAbout(ctx, a, fmt.Sprintf("its handoff %d is %s", h.ID, h.Status), true)
}

// heirRuntime returns the runtime for the successor of an agent with a limit: the one that the operator chose, else the
// first of the policy's fallback that can run and is not limited. A context window that is full is a new one in a successor
// on the same runtime, which therefore comes first. why says why there is none.
func (d *Daemon) heirRuntime(ctx context.Context, a *Agent, l *Limit) (name, why string, err error) {
	if l.Runtime != "" {
		return l.Runtime, "", nil
	}
	limited, err := d.limitedRuntimes(ctx)
	if err != nil {
		return "", "", err
	}
	candidates := d.limitPolicy(a).Fallback
	if l.Kind == LimitContext {
		candidates = slices.Concat([]string{a.Runtime}, candidates)
	}
	var not []string
	for _, name := range candidates {
		until, is := limited[name]
		told := d.checkRuntime(name)
		switch {
		case l.Kind != LimitContext && name == a.Runtime:
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
func (d *Daemon) limitedRuntimes(ctx context.Context) (map[string]*time.Time, error) {
	active, err := d.roster.agents(ctx)
	if err != nil {
		return nil, err
	}
	ended, err := d.Store.Agents(ctx, AgentFilter{Lately: true, Limit: 200})
	if err != nil {
		return nil, err
	}
	limited, now := map[string]*time.Time{}, d.now()
	for _, a := range slices.Concat(active, ended) {
		l := a.Limit
		switch {
		case l == nil || l.Kind == LimitContext || a.Host != d.Host || l.TriedAt != nil:
		case a.Active() && (l.Until == nil || l.Kind == LimitAPI): // its next try is no time at which the API is back
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
