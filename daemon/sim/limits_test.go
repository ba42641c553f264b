package sim

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/actor"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
)

// fallback is a second account on the agents' CLI.
const fallback = "claude-work"

// drawLimits draws the policy of a run.
func drawLimits(rng *rand.Rand) daemon.LimitSettings {
	actions := daemon.LimitActions()
	return daemon.LimitSettings{
		OnLimit: actions[rng.IntN(len(actions))], Fallback: []string{fallback}, MaxWaits: 1 + rng.IntN(3), APITimeout: between(rng, time.Minute, 4*time.Minute),
	}
}

// settings returns the settings of the run's daemons.
func (w *world) settings() engine.Settings {
	set := settings()
	set.Limits, set.Resume, set.Pipeline.Resume, set.Handoff.Background = w.limits, w.resume, w.resume, w.background
	set.Runtimes[fallback] = set.Runtimes["claude"]
	for _, name := range cliNames {
		set.Runtimes[name] = []string{name}
	}
	set.Generic = map[string]*runtimes.Runtime{linesName: linesRuntime}
	return set
}

// limitHit is one usage limit of an agent's account, from the first turn that it ends.
type limitHit struct {
	text    string    // what the agent says about it
	over    time.Time // until then each turn ends with it
	tried   bool      // another turn has begun after over
	resumed bool      // the agent went on by itself
	goOns   int       // how many prompts to go on the model was given
}

// refuses has the API refuse the requests of the turn for a while, if the CLI sends them again by itself. It reports whether
// somebody has interrupted the turn meanwhile.
func refuses(a *agent, ctx context.Context) (interrupted bool) {
	if a.cli.refused == nil || a.mood.limits == 0 || !a.odd("refused requests", a.mood.limits/2) {
		return false
	}
	a.cli.refused(a, true)
	if a.doIn(ctx, "waits for its API", 0, 6*time.Minute) || ctx.Err() != nil {
		a.refused = false
		return true
	}
	a.cli.refused(a, false)
	return false
}

// resumedText begins the prompt with which an agent goes on by itself.
const resumedText = "Your claude.ai usage limit has reset."

// limit returns the limit that ends the turn: one that lasts still, or a new one; nil: there is none.
func limit(a *agent) *limitHit {
	if n := len(a.limits); n > 0 && time.Now().Before(a.limits[n-1].over) {
		return a.limits[n-1]
	}
	if a.mood.limits == 0 || !a.odd("usage limit", a.mood.limits) { // without limits nothing is drawn, so that stories stay as they are
		return nil
	}
	lasts := between(a.rng, 20*time.Second, 3*time.Minute)
	l := hits(a, lasts)
	lasts = time.Until(l.over)
	if a.cli.rt.Can.Continues && a.rng.IntN(2) == 0 {
		go resume(a, l, lasts+80*time.Second)
	}
	return l
}

// hits has the account of an agent reach a usage limit of about that long.
func hits(a *agent, lasts time.Duration) *limitHit {
	text, lasts := a.cli.limited(a, lasts)
	l := &limitHit{over: time.Now().Add(lasts), text: text}
	a.limits = append(a.limits, l)
	return l
}

// resume has the agent go on by itself after a limit, unless something else has begun a turn since.
func resume(a *agent, l *limitHit, after time.Duration) {
	a.do("waits for its reset", after, after)
	if l.tried || a.leaving || a.dead {
		return
	}
	l.resumed, l.tried = true, true
	a.hook(hooks.Notification, actor.Fields{
		"notification_type": "quota_auto_resume_fired", "message": "Usage limit reset — Claude is continuing your task",
	})
	a.enqueue(job{prompt: resumedText + " Continue the task.", from: typed})
}

// tries notes that a turn has begun.
func tries(a *agent) {
	if n := len(a.limits); n > 0 && !time.Now().Before(a.limits[n-1].over) {
		a.limits[n-1].tried = true
	}
}

// checkGoOn: after each limit the agent is prompted to go on at most once, and not at all if it has gone on by itself.
func (w *world) checkGoOn(a *agent, prompt string) {
	if !strings.Contains(prompt, "Your usage limit has ended.") || strings.Contains(prompt, "Noted: ") { // a step quotes it in its answer
		return
	}
	n := len(a.limits)
	if n == 0 {
		if !a.resumed { // the limit may have been that of the process whose session was opened again
			w.fail("agent %d was prompted to go on and never hit a limit", a.id)
		}
		return
	}
	l := a.limits[n-1]
	l.goOns++
	switch {
	case l.goOns > 1 && !w.plan.on["clock steps"]: // a daemon whose clock is ahead prompts as often as max_waits allows
		w.fail("agent %d was prompted %d times to go on after one limit", a.id, l.goOns)
	case l.resumed:
		w.fail("agent %d was prompted to go on, although it had gone on by itself", a.id)
	case time.Now().Before(l.over) && !w.plan.on["clock steps"]:
		w.fail("agent %d was prompted to go on before its limit was over", a.id)
	}
}

// checkAsked: nobody is asked about a limit because of a prompt that the agent has taken.
func (w *world) checkAsked(c *daemon.Change) {
	for _, a := range c.Agents {
		if a.Limit == nil || a.Limit.Do != daemon.LimitAsk || a.Limit.DeliveryID == nil || a.Limit.By != daemon.LimitByPolicy {
			continue
		}
		if d, err := w.lent.Delivery(ctx(), *a.Limit.DeliveryID); err == nil && d.Verdict != nil && *d.Verdict == daemon.Submitted {
			w.fail("somebody is asked about the limit of agent %d (%s), which has taken the prompt to go on", a.ID, a.Limit.Why)
		}
	}
}

// checkLimits: an agent is handed over because of a limit, and prompted to go on, at most as often as it was limited.
func (w *world) checkLimits(agents []daemon.Agent, handoffs []daemon.Handoff, events []event.Event) {
	for a := range each(agents) {
		id, times, over := a.ID, 0, 0
		for e := range each(events) {
			if e.Type == event.AgentLimited && e.AgentID != nil && *e.AgentID == id {
				times++
			}
		}
		for h := range each(handoffs) {
			if h.AgentID == id && h.Reason == daemon.ReasonLimit {
				over++
			}
		}
		if over > 1 && over > times || w.goOns(id) > times {
			w.fail("agent %d was limited %d times, handed over because of that %d times, and prompted to go on %d times", id, times, over, w.goOns(id))
		}
	}
}

// waitsForLimit reports whether something is still to be done about the limit of an agent whose process lives.
func (w *world) waitsForLimit(a *daemon.Agent) bool {
	p := w.process(a.ID)
	if p == nil || !a.Active() || a.State != daemon.Limited || a.Limit == nil || a.StopAskedAt != nil || w.plan.on["clock steps"] {
		return false
	}
	switch a.Limit.Do {
	case daemon.LimitUndecided, daemon.LimitHandOver:
		return true
	case daemon.LimitWait:
		return a.Limit.DeliveryID == nil && a.Limit.Until != nil // without a time it is taken to last longer than a run
	}
	return false
}

// goOns counts the prompts to go on that were queued for an agent.
func (w *world) goOns(id int64) (n int) {
	for d := range each(deliveries(w, id)) {
		if d.Kind == daemon.KindGoOn {
			n++
		}
	}
	return n
}
