package sim

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/actor"
	"github.com/understudyd/understudy/daemon/runtimes"
)

// What a person's own hooks do beside ours: they hold the start of a session, and refuse prompts. And the person who retries at once
// whatever has failed.

// heldStart is how long the hooks of a session's start take at most that are not ours.
const heldStart = 50 * time.Second

// holdStart runs the hooks of the session's start that are not ours. Our own has come. What is typed meanwhile leaves the composer, and
// waits until they end. After a dialog before the session nobody can tell a prompt of the command line that is held from one that was
// forgotten: the daemon waits for ack_timeout then. Claude Code shows that a prompt is held. A version that does not is played too, but not with
// dialogs over texts: nobody could tell there a text that the dialog has swallowed from one that a person has submitted. Nor with a clock that
// steps, or a machine that sleeps: while no daemon runs, ten minutes may seem to pass in a second, and no hook takes longer.
func holdStart(a *agent) {
	if a.cli != claudeCLI || a.mood.held == 0 || a.mood.trust && !a.mood.forgets || a.heldFor == 0 && !a.odd("start held", a.mood.held) {
		return
	}
	a.held, a.mute = true, a.mute || a.mood.surprises == 0 && a.id%2 == 0 && !a.w.plan.has("clock steps") && !a.w.plan.has("machine sleeps")
	a.register("idle")
	least := []time.Duration{time.Second, settings().Handoff.AckTimeout}[a.rng.IntN(2)] // half of them longer than a text is waited for
	a.do("another hook of its start runs", cmp.Or(a.heldFor, least), cmp.Or(a.heldFor, heldStart))
	a.held = false
}

// refusesPrompt reports whether a hook that is not ours refuses the prompt of a turn. A prompt that waits in the queue has passed its hooks.
func refusesPrompt(a *agent, j job) bool {
	return a.cli == claudeCLI && j.from == typed && (a.refusing || a.mood.refuses > 0 && a.odd("prompt refused", a.mood.refuses))
}

// dropPrompt has the other hook refuse the prompt, of which our own hook has told already. The model never sees it, no turn runs, and
// the text returns to the composer.
func dropPrompt(a *agent, prompt string) {
	a.do("another hook looks at the prompt", 0, 3*time.Second)
	if i := slices.Index(a.pending, prompt); i >= 0 {
		a.pending = slices.Delete(a.pending, i, i+1)
	}
	if i := slices.Index(a.given, prompt); i >= 0 {
		a.given = slices.Delete(a.given, i, i+1)
	}
	const reason = "the gate is closed"
	a.frame.Print(actor.BlockError, "UserPromptSubmit operation blocked by hook: "+reason)
	if a.composer.Text == "" {
		a.composer.Paste(prompt)
		a.composer.Pasted = false
	}
	a.append(actor.Fields{
		"type": "system", "subtype": "informational", "uuid": uuid(a.rng), "isSidechain": false, "timestamp": a.stamp(), "sessionId": a.session,
		"content":            "UserPromptSubmit operation blocked by hook:\n" + reason + "\n\nOriginal prompt: " + prompt,
		"promptSubmitEnding": actor.Fields{"ending": actor.Fields{"kind": "blocked_by_hook", "reason": reason}, "promptKept": false},
	})
	a.w.checkRefused(a, prompt)
	a.w.trace.note(a.owner.name, "refuses %.70q", prompt)
}

// checkRefused: a delivery whose prompt is refused is not known as submitted.
func (w *world) checkRefused(a *agent, prompt string) {
	list := must(w.lent.Deliveries(ctx(), a.id, 0, 500))
	for d := range each(list) {
		if d.Kind != daemon.KindExit && strings.Contains(prompt, token(d)) && !asked(w, list, token(d)) {
			checkGiven(w, d)
		}
	}
}

// checkOnce: an agent takes the instruction or the briefing of a handoff once, however often that was sent. It is called before a take
// of the deliveries is counted. A refused text to which a person had typed is the person's draft: whoever submits it later has it taken again.
// And whoever retries after a text whose fate nobody can know, because only a screen tells of it, may have it taken again.
func (w *world) checkOnce(a *agent, taken []*daemon.Delivery, prompt string) {
	if slices.ContainsFunc(taken, func(d *daemon.Delivery) bool {
		unknown := d.Way == runtimes.ByEcho && d.Verdict != nil && *d.Verdict == daemon.Unconfirmed
		return unknown || sentOn(d, prompt)
	}) {
		return
	}
	for _, d := range taken {
		if d.HandoffID != nil && w.takes[takeKey(a.id, token(d))] > 0 {
			w.fail("agent %d takes the text of handoff %d twice", a.id, *d.HandoffID)
		}
	}
}

// hurry retries each handoff at once that has failed, a few times.
func (p *person) hurry() {
	tries := map[int64]int{}
	for {
		p.wait("looks for what has failed", 50*time.Millisecond, 2*time.Second)
		handoffs := p.w.handoffs()
		for h := range each(handoffs) {
			if h.Retryable() && h.Open() == (h.Phase != daemon.Failed) && tries[h.ID] < 4 {
				tries[h.ID]++
				p.w.plan.count("retry at once")
				_ = p.retry(h)
			}
		}
	}
}
