package engine

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
)

// HandsOver returns what tells whether the daemon hands an agent over by itself when its context is nearly full, and why not, although
// automatic handoffs are on. It reads no file, however many agents it is asked about, and says nothing of agents of other hosts: their own
// settings and personas decide.
func (d *Engine) HandsOver() func(a *daemon.Agent) (will bool, why string) {
	f := d.Facts()
	return func(a *daemon.Agent) (bool, string) {
		if a.Host != f.Host {
			return false, ""
		}
		return HandsOver(f.AutoFor(a), a)
	}
}

// AutoFor returns the settings of automatic handoffs for an agent: those of its persona, over the operator's.
func (f *Facts) AutoFor(a *daemon.Agent) daemon.AutoSettings {
	auto, p := f.Settings.Handoff.Auto, f.persona(a)
	if p.Auto == "" {
		return auto
	}
	percent, err := strconv.Atoi(p.Auto)
	auto.Enabled = p.Auto != "off"
	if err == nil {
		auto.Trigger = percent
		auto.High = min(auto.High, percent)
		auto.Warn = min(auto.Warn, percent)
	}
	return auto
}

// UseContext notes how full an agent's window was at a time. A noticeable change makes a sample in c, and a change of the tier
// an event.
func (f *Facts) UseContext(c *daemon.Change, a *daemon.Agent, use daemon.ContextUse, at time.Time) {
	before, was := a.Context, daemon.TierNone
	if before != nil {
		was = before.Tier
	}
	if use.Limit = KnownWindow(use.Tokens, use.Limit); use.Limit != nil {
		percent := math.Round(1000*float64(use.Tokens)/float64(*use.Limit)) / 10
		use.Percent, use.Tier = &percent, f.tier(a, percent)
	}
	a.NoteContext(&use)
	if use.Sampled(before) {
		c.Samples = append(c.Samples, daemon.ContextSample{AgentID: a.ID, At: at, Tokens: use.Tokens, Percent: use.Percent})
	}
	if use.Tier != was {
		c.Events = append(c.Events, f.tierEvent(a, was))
	}
}

// tier returns the tier of a use in percent, by what holds for the agent.
func (f *Facts) tier(a *daemon.Agent, percent float64) daemon.Tier {
	switch auto := f.AutoFor(a); {
	case percent >= float64(auto.High):
		return daemon.TierHigh
	case percent >= float64(auto.Warn):
		return daemon.TierWarn
	}
	return daemon.TierNormal
}

// tierEvent makes the event of a new tier. The event is an alert if the tier is high and the agent is not handed over by itself, so
// that nobody has to watch a meter.
func (f *Facts) tierEvent(a *daemon.Agent, was daemon.Tier) *event.Event {
	use := a.Context
	payload := map[string]any{"tier": use.Tier, "was": was, "tokens": use.Tokens, "limit": use.Limit, "percent": use.Percent}
	e := f.Event(event.AgentContext, &a.ID, nil, payload)
	if will, why := HandsOver(f.AutoFor(a), a); use.Tier == daemon.TierHigh && a.Persona != nil && !will {
		if why != "" {
			why = ", and " + why
		}
		payload["message"] = fmt.Sprintf("Agent %d (%s) has used %s of its context%s: hand it over with `understudy handoff %d`.", a.ID, a.Name, words.Percent(*use.Percent), why, a.ID)
		e.Payload, e.Alert = event.Payload(payload), true
	}
	return e
}

// Sized returns the size of a window; nil: it is not known.
func Sized(window int64) *int64 {
	if window > 0 {
		return &window
	}
	return nil
}

// HandsOver reports whether the daemon hands over an agent by itself when its context use reaches the trigger. why says why not,
// although automatic handoffs are on. That an agent is too young only puts the handoff off.
func HandsOver(auto daemon.AutoSettings, a *daemon.Agent) (will bool, why string) {
	switch use := a.Context; {
	case a.Persona == nil || !auto.Enabled:
		return false, ""
	case a.AutoAskedAt != nil:
		return false, "an automatic handoff was tried"
	case use == nil || use.Percent == nil || a.ContextStart == nil:
		return false, "how full its context is is not known"
	case *a.ContextStart+AutoGrowth > float64(auto.Trigger) && *use.Percent-*a.ContextStart < AutoGrowth:
		at := *a.ContextStart + AutoGrowth
		if at > 100 {
			return false, fmt.Sprintf("it began at %s of its context, too full for an automatic handoff", words.Percent(*a.ContextStart))
		}
		return false, fmt.Sprintf("it began at %s of its context, so it is handed over by itself at %s only", words.Percent(*a.ContextStart), words.Percent(at))
	}
	return true, ""
}

// KnownWindow returns the size of a context window; nil: it is not known. A window that holds more than its size has another size:
// the runtime has taken it for another model's.
func KnownWindow(tokens int64, limit *int64) *int64 {
	if limit == nil || *limit <= 0 || tokens > *limit {
		return nil
	}
	return limit
}

const (
	// AutoAfter is how long an agent must have been registered before the daemon requests its handoff. If an agent and each
	// of its successors started with a full window, the daemon would otherwise hand over for ever.
	AutoAfter = 2 * time.Minute
	// AutoGrowth is how many percentage points the use must lie above the agent's ContextStart, for the same reason.
	AutoGrowth = 10
)
