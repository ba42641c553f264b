package engine

import (
	"fmt"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// handsOver reports whether the daemon hands over an agent by itself when its context use reaches the trigger. why says why not,
// although automatic handoffs are on. That an agent is too young only puts the handoff off.
func handsOver(auto daemon.AutoSettings, a *daemon.Agent) (will bool, why string) {
	switch use := a.Context; {
	case a.Persona == nil || !auto.Enabled:
		return false, ""
	case a.AutoAskedAt != nil:
		return false, "an automatic handoff was tried"
	case use == nil || use.Percent == nil || a.ContextStart == nil:
		return false, "how full its context is is not known"
	case *a.ContextStart+autoGrowth > float64(auto.Trigger) && *use.Percent-*a.ContextStart < autoGrowth:
		at := *a.ContextStart + autoGrowth
		if at > 100 {
			return false, fmt.Sprintf("it began at %s of its context, too full for an automatic handoff", words.Percent(*a.ContextStart))
		}
		return false, fmt.Sprintf("it began at %s of its context, so it is handed over by itself at %s only", words.Percent(*a.ContextStart), words.Percent(at))
	}
	return true, ""
}

// knownWindow returns the size of a context window; nil: it is not known. A window that holds more than its size has another size:
// the runtime has taken it for another model's.
func knownWindow(tokens int64, limit *int64) *int64 {
	if limit == nil || *limit <= 0 || tokens > *limit {
		return nil
	}
	return limit
}
