package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
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
			if row.ID == a.id && row.Unread && row.StopCameAt == nil && row.State == daemon.Idle {
				w.fail("agent %d has finished, as its row says, but its Stop was blocked, and it goes on", a.id)
			}
		}
	}
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
	stored := must(w.lent.Permissions(context.Background(), daemon.PermissionFilter{AgentID: a.id}))
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
