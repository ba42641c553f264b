package daemon

import (
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// ReasonLimit is the reason of a handoff that the daemon requests for an agent with a limit.
const ReasonLimit = "usage_limit"

const (
	// unknownReset is how long a limit is taken to last if the runtime did not say it.
	UnknownReset = time.Hour
	// limitLook is how long a lane waits at most before it looks at a limit again. A timer does not go on while the machine
	// sleeps.
	LimitLook = time.Minute
)

// limitPolicy returns the policy for an agent: that of its persona, over the settings.
func (f *Facts) limitPolicy(a *Agent) LimitSettings {
	policy, p := f.Settings.Limits, f.persona(a)
	if p.OnLimit != "" {
		policy.OnLimit = LimitAction(p.OnLimit)
	}
	if p.Fallback != "" {
		policy.Fallback = strings.Split(p.Fallback, ",")
	}
	return policy
}

// seesToLimit reports whether the agent's lane does something about a limit of the agent, or about an API that fails, so that
// the work goes on without a person.
func (f *Facts) seesToLimit(a *Agent) bool {
	switch {
	case !a.Active() || a.StopAskedAt != nil:
		return false
	case a.APIFails():
		return f.limitPolicy(a).OnLimit != LimitAsk
	}
	return a.State == Limited && a.Limit != nil && a.Limit.Do != LimitAsk
}

// APIFails reports whether an agent's last turn ended because the API did not answer, and no limit was noted for that.
func (a *Agent) APIFails() bool {
	return a.State == Idle && a.Limit == nil && a.Trouble != nil && a.TurnError != "" && runtimes.APIFails(a.Trouble.Code)
}

// LimitOrTrouble says what keeps an agent from its work.
func (a *Agent) LimitOrTrouble() string {
	if a.Limit == nil {
		return "gets an error from its API"
	}
	return a.Limit.What()
}

// wantsGoOn reports whether the agent still needs the prompt after the reset. It does not if it has gone on by itself, or if
// a person has prompted it.
func (a *Agent) wantsGoOn(dl *Delivery) bool {
	return a.State == Limited && a.Limit != nil && a.Limit.DeliveryID != nil && *a.Limit.DeliveryID == dl.ID
}

// Ending reports whether the daemon has decided to end the running turn, because the API has failed for too long.
func (a *Agent) Ending() bool {
	return a.State == Working && a.Limit != nil && a.Limit.Kind == LimitAPI && a.Limit.TriedAt == nil
}
