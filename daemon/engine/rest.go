package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
)

// A Stop does not say that the turn is over. Runtimes call all hooks of a Stop at once, and one of somebody else's may block it:
// the runtime then goes on in the same turn, and sends another Stop. So may a prompt that was queued. The turn is over when the
// runtime rests. Until then the agent keeps the state that it had before the Stop, and the row has StopCameAt. Whoever asks
// whether a turn is over asks the row: handoffs, steps, the notification that an agent has finished, and the pages.

// restLook is how long the lane waits between the first looks at whether a runtime rests after its Stop.
const restLook = 50 * time.Millisecond

// unreadable is how long a screen that cannot be read is taken for one that shows a turn: one look that fails tells nothing.
const unreadable = 10 * time.Second

// mayGoOn reports whether a runtime may go on after its Stop without a prompt. It may not if a server, or our own extension inside
// it, tells the Stop: these tell it when the session is at rest, and oh-my-pi's screen goes on showing a turn after a compaction
// (18.2.3). A runtime that tells nothing was found at rest by its screen.
func mayGoOn(can *runtimes.Can) bool {
	return can.Registers != runtimes.RegistersByServer && can.Exit != runtimes.ByInbox && can.QuietAfter == 0
}

// restSigns is what a runtime shows after its Stop.
type restSigns struct {
	known  bool            // it has an entry in its registry
	status runtimes.Status // that the entry has
	moved  bool            // the session has moved to another process, so that the entry does not tell of it
	busy   bool            // if it has no entry: its screen shows a turn, or a dialog
}

// rests reports whether a runtime whose Stop has come rests, so that the turn is over. A dialog that is open then is that of a sub-agent, or of
// a turn that goes on and whose hook is late. In both cases the runtime goes on when the dialog is answered.
func (s restSigns) rests() bool {
	if s.known && !s.moved {
		return s.status != runtimes.StatusBusy && s.status != runtimes.StatusWaiting
	}
	return !s.busy
}

// restSignsOf looks at an agent whose Stop has come.
func restSignsOf(d *Daemon, ctx context.Context, a *daemon.Agent) restSigns {
	rt := d.runtimeOf(a)
	if !mayGoOn(&rt.Can) {
		return restSigns{}
	}
	entry := d.look(a)
	s := restSigns{known: entry.known, status: entry.status, moved: entry.parked != "" || entry.copied}
	if !s.known && rt.Registry == nil && a.HasPane() {
		shown, err := d.readScreen(ctx, a)
		failing := unreadFor(d, a, err) // also a look that shows a turn ends the series
		s.busy = shown.Busy || shown.Dialog != "" || err != nil && failing < unreadable
	}
	return s
}

// unread is a series of looks at a screen that have failed.
type unread struct{ since, last time.Time }

// unreadFor notes whether the last look at an agent's screen has failed, and returns for how long the looks have failed.
func unreadFor(d *Daemon, a *daemon.Agent, err error) (had time.Duration) {
	d.memories.change(a.ID, func(m *agentMemory) {
		now := time.Now()
		switch {
		case err == nil:
			m.unread = unread{}
			return
		case now.Sub(m.unread.last) > unreadable: // nobody has looked for a while
			m.unread.since = now
		}
		m.unread.last = now
		had = now.Sub(m.unread.since)
	})
	return had
}

// endsTurn reports whether the agent's Stop has come, and it is not known yet whether its turn is over.
func endsTurn(a *daemon.Agent) bool { return a.Started() && a.StopCameAt != nil }

// documentDone reports whether the turn is over in which an agent has written a handoff's document. That its Stop has come is not enough: the
// agent may have shown since then that it goes on in that turn, as by asking for a permission.
func documentDone(a *daemon.Agent, h *daemon.Handoff) bool {
	if h.StopHook == 0 || endsTurn(a) {
		return false
	}
	return !a.Started() || a.AtRest() || h.PromptID != "" && h.PromptID != a.TurnPromptID
}

// endTurnAtRest ends the turn of an agent whose Stop has come once its runtime rests. A turn may go on for hours behind a Stop that another
// hook has blocked.
func endTurnAtRest(d *Daemon, ctx context.Context, a *daemon.Agent) (moved bool, again time.Duration, err error) {
	if !restSignsOf(d, ctx, a).rests() {
		return false, rarer(restLook, d.timeSpent(*a.StopCameAt)), nil
	}
	_, handing, err := d.openHandoff(ctx, a.ID)
	if err != nil {
		return false, 0, err
	}
	return true, 0, d.commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}, Events: goToRest(d, a, handing)})
}

// goToRest ends the turn of an agent whose Stop has come and whose runtime rests, and returns the events. The agent has finished,
// unless it is being handed over, and the operator who wants to know that is told.
func goToRest(d *Daemon, a *daemon.Agent, handing bool) (events []*event.Event) {
	stop := a.LeaveTurn()
	if a.Be(a.Rest(), d.now()) {
		events = append(events, d.facts().stateEvent(a, map[string]any{"hook": "Stop"}))
	}
	if finishes(a) && !handing {
		a.Finish(stop)
		if d.factsFor(a).notifiesFinished(a) {
			events = append(events, finishedEvent(d, a))
		}
	}
	return events
}

// finishes reports whether the turn that has ended was one that the operator waits for. It is not while sub-agents work,
// because the runtime goes on by itself when they end. The agents of a pipeline are left out: the pipeline goes on with what they
// said.
func finishes(a *daemon.Agent) bool {
	return a.State == daemon.Idle && daemon.AwaitedTasks(a, daemon.BackgroundWarn) == 0 && a.PipelineID == nil && a.WorkStop > 0 && a.WorkStop == a.LastStop
}

// finishedEvent says that an agent has finished its turn.
func finishedEvent(d *Daemon, a *daemon.Agent) *event.Event {
	said := ""
	if a.LastMessage != "" {
		said = " " + words.Quote(a.LastMessage)
	}
	e := d.event(event.AgentFinished, &a.ID, nil, map[string]any{
		"agent_name": a.Name, "message": fmt.Sprintf("Agent %d (%s) has finished its turn%s: `understudy agent show %[1]d`.", a.ID, a.Name, said),
	}).For(a.PipelineID, a.StepID)
	e.Notice = event.NoticeFinished
	return e
}
