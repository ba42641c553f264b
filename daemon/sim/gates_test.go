package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/actor"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
)

// What goes on after a Stop: the turn, if a hook that is not ours has blocked the Stop, and sub-agents, which ask for permission
// while the agent itself rests or goes on.

// gate runs the Stop hook that a person has installed beside ours. It reports whether that hook has blocked the Stop. The hook
// may take a minute. The turn goes on meanwhile, as its registry entry and its screen say.
func (a *agent) gate() (blocked bool) {
	if a.cli != claudeCLI && a.cli != codexCLI {
		return false
	}
	a.gated = a.gating > 0 || a.mood.gates > 0 && a.odd("Stop blocked", a.mood.gates)
	if a.gated {
		a.do("runs a gate", a.gating, cmp.Or(a.gating, time.Minute))
	}
	return a.gated
}

// feedback is the user's message with which the turn goes on after a Stop that a hook has blocked.
func (c *cli) feedback(reason string) string {
	if c == codexCLI {
		return `<hook_prompt hook_run_id="stop:1">` + reason + "</hook_prompt>"
	}
	return "Stop hook feedback:\n" + reason
}

// checkGated: a turn whose Stop was blocked is not over for anybody who has heard of that Stop.
func checkGated(w *world, c *daemon.Change) {
	for _, a := range w.agents {
		if !a.gated || a.dead || a.stop == nil {
			continue
		}
		if m := c.Move; m != nil && m.Handoff.AgentID == a.id && ofTurn(w, a, m.Handoff.StopHook) {
			checkGatedHandoff(w, a, c)
		}
		if row, err := w.lent.Agent(ctx(), a.id); err == nil && !ofTurn(w, a, row.LastStop) {
			continue // the daemon speaks of an earlier turn
		}
		for _, e := range c.Events {
			if e.AgentID != nil && *e.AgentID == a.id && e.Type == "agent_finished" {
				w.fail("agent %d is said to have finished, but its Stop was blocked, and it goes on", a.id)
			}
		}
		if out := c.NewOutput; out != nil && out.AgentID == a.id {
			w.fail("step %d has ended, but the Stop of its agent %d was blocked, and it goes on", out.StepID, a.id)
		}
		if w.plan.on["hooks lost"] { // without the hook of its prompt, nobody knows which turn the Stop was of
			continue
		}
		for _, row := range c.Agents {
			if row.ID == a.id && row.Unread && row.StopCameAt == nil && row.State == daemon.Idle && !finishedBefore(w, row) {
				w.fail("agent %d has finished, as its row says, but its Stop was blocked, and it goes on", a.id)
			}
		}
	}
}

// finishedBefore reports whether the turn that an agent has finished by its row is one of the agent before it, whose session it has opened again. It
// takes that over as it starts, and keeps it until a hook of a turn of its own is stored: so it says nothing about a turn that runs.
func finishedBefore(w *world, row *daemon.Agent) bool {
	if row.PreviousAgentID == nil {
		return false
	}
	before, err := w.lent.Agent(ctx(), *row.PreviousAgentID)
	return err == nil && before.FinishedAt != nil && row.FinishedAt != nil && row.FinishedAt.Equal(*before.FinishedAt)
}

// checkGatedHandoff: no document is recorded as long as the turn in which it is written goes on. After a retry the daemon waits busy_timeout
// for the end of the turn, and then takes the document as it is.
func checkGatedHandoff(w *world, a *agent, c *daemon.Change) {
	h := c.Move.Handoff
	waited := time.Since(w.entered[h.ID].seen) > settings().Handoff.BusyTimeout-10*time.Second
	if c.NewRecord != nil && h.Mode == daemon.ModeAgent && !waited && !w.plan.on["hooks lost"] {
		w.fail("handoff %d is recorded, but the Stop of its agent %d was blocked, and it goes on", h.ID, a.id)
	}
}

// ofTurn reports whether a stored hook may be one of the turn that an agent runs now: it names no other one.
func ofTurn(w *world, a *agent, hook int64) bool {
	stored, err := w.lent.StoredHook(ctx(), hook)
	if err != nil {
		return true
	}
	p, err := hooks.Parse(stored.Event, stored.Body)
	return err != nil || p.PromptID == "" || p.PromptID == a.promptID
}

// checkDialogs: a permission is answered in the pane if its dialog was, whatever dialogs of the agent stand before and after it. While its
// dialog is answered, it does not run out of time: half of that time is enough for the daemon to notice. A daemon that has not seen a dialog
// stand can't tell whether it was answered or waits for its turn, as long as another one stands.
func checkDialogs(w *world, c *daemon.Change) {
	for _, row := range c.Agents {
		if a := w.process(row.ID); a != nil && len(c.Permissions) > 0 && row.State == daemon.Working {
			checkNothingStands(w, a, c.Permissions)
		}
	}
	for _, p := range c.Permissions {
		for _, a := range w.agents {
			d := a.asked[p.Subject]
			if a.id != p.AgentID || a.dead || d == nil {
				continue
			}
			switch {
			case p.State == daemon.PermissionPane && d.answered.IsZero():
				w.fail("permission %d has ended (%s), but its dialog stands in the pane of agent %d", p.ID, p.Note, a.id)
			case p.State == daemon.PermissionUnanswered && strings.HasPrefix(p.Note, "nobody answered in time") && !d.answered.IsZero() && a.couldSee(d) > 20*time.Second:
				w.fail("permission %d has ended (%s), but its dialog was answered %s before", p.ID, p.Note, time.Since(d.answered))
			}
		}
	}
}

// couldSee returns how long a daemon could see that a dialog was answered: while no other dialog stood, or if it has seen it before.
func (a *agent) couldSee(d *dialog) time.Duration {
	var others []span
	if laterOf(d.shown, a.h.began).Add(3 * time.Second).After(d.answered) {
		others = slices.Clone(a.stood)
		if a.dialog != nil {
			others = append(others, span{a.dialog.shown, time.Now()})
		}
	}
	return a.h.usableSince(d.answered, others...)
}

// checkNothingStands: an agent that is said to work because permissions have ended waits for no other one that the daemon has heard of.
func checkNothingStands(w *world, a *agent, ended []*daemon.Permission) {
	stored := must(w.lent.Permissions(ctx(), daemon.PermissionFilter{AgentID: a.id}))
	for _, p := range stored {
		d := a.asked[p.Subject]
		over := slices.ContainsFunc(ended, func(e *daemon.Permission) bool { return e.ID == p.ID })
		if d != nil && !over && d.answered.IsZero() && (p.State == daemon.PermissionOpen || p.State == daemon.PermissionUnanswered) {
			w.fail("agent %d is said to work because permission %d has ended, but it waits for permission %d: %s", a.id, ended[0].ID, p.ID, p.Subject)
		}
	}
}

// awaited returns how many tasks in the background of an agent a handoff has to wait for, as the agent's row says: by the setting also for
// commands, which may run for ever.
func awaited(w *world, a *daemon.Agent) int {
	n := a.BackgroundTasks
	if w.background == daemon.BackgroundWait || a.Background == nil {
		return n
	}
	for _, t := range a.Background.Tasks {
		if t.Type == hooks.TaskShell {
			n--
		}
	}
	return n
}

// delegate starts a sub-agent, which goes on in the background and asks for permission once.
func (a *agent) delegate() {
	if a.cli != claudeCLI {
		return
	}
	a.tasks++
	a.subs++
	go func() {
		a.do("sub-agent works", 0, 10*time.Second)
		if !a.leaving && a.ready {
			a.askHeld(fmt.Sprintf("touch %s", uuid(a.rng)), true)
		}
		a.tasks--
		a.subs--
		a.enqueue(job{prompt: "<task-notification>done</task-notification>", from: notification})
	}()
}

// What a person's own hooks do beside ours: they hold the start of a session, and refuse prompts. And the person who retries at once
// whatever has failed.

// heldStart is how long the hooks of a session's start take at most that are not ours.
const heldStart = 50 * time.Second

// holdStart runs the hooks of the session's start that are not ours. Our own has come. What is typed meanwhile leaves the composer, and
// waits until they end. Claude Code shows that a prompt is held. A version that does not is played too, but not with dialogs over texts: nobody
// could tell there a text that the dialog has swallowed from one that a person has submitted. Nor with a clock that steps, or a machine that
// sleeps: while no daemon runs, ten minutes may seem to pass in a second, and no hook takes longer.
func holdStart(a *agent) {
	if a.cli != claudeCLI || a.mood.held == 0 || a.heldFor == 0 && !a.odd("start held", a.mood.held) {
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
	list := deliveries(w, a.id)
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
