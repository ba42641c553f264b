package engine

import (
	"strings"

	"github.com/understudyd/understudy/daemon"
)

// limitPolicy returns the policy for an agent: that of its persona, over the settings.
func (f *Facts) limitPolicy(a *daemon.Agent) daemon.LimitSettings {
	policy, p := f.Settings.Limits, f.persona(a)
	if p.OnLimit != "" {
		policy.OnLimit = daemon.LimitAction(p.OnLimit)
	}
	if p.Fallback != "" {
		policy.Fallback = strings.Split(p.Fallback, ",")
	}
	return policy
}

// seesToLimit reports whether the agent's lane does something about a limit of the agent, or about an API that fails, so that
// the work goes on without a person.
func (f *Facts) seesToLimit(a *daemon.Agent) bool {
	switch {
	case !a.Active() || a.StopAskedAt != nil:
		return false
	case a.APIFails():
		return f.limitPolicy(a).OnLimit != daemon.LimitAsk
	}
	return a.State == daemon.Limited && a.Limit != nil && a.Limit.Do != daemon.LimitAsk
}
