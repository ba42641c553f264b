package agents

import (
	"context"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/daemon/words"
)

// A Stop does not say that the turn is over. Runtimes call all hooks of a Stop at once, and one of somebody else's may block it:
// the runtime then goes on in the same turn, and sends another Stop. So may a prompt that was queued. The turn is over when the
// runtime rests. Until then the agent keeps the state that it had before the Stop, and the row has StopCameAt. Whoever asks
// whether a turn is over asks the row: handoffs, steps, the notification that an agent has finished, and the pages.

// RestLook is how long the lane waits between the first looks at whether a runtime rests after its Stop.
const RestLook = 50 * time.Millisecond

// MayGoOn reports whether a runtime may go on after its Stop without a prompt. It may not if a server, or our own extension inside
// it, tells the Stop: these tell it when the session is at rest, and oh-my-pi's screen goes on showing a turn after a compaction
// (18.2.3). A runtime that tells nothing was found at rest by its screen.
func MayGoOn(can *runtimes.Can) bool {
	return can.Registers != runtimes.RegistersByServer && can.Exit != runtimes.ByInbox && can.QuietAfter == 0
}

// RestSigns is what a runtime shows after its Stop.
type RestSigns struct {
	Known  bool            // it has an entry in its registry
	Status runtimes.Status // that the entry has
	Moved  bool            // the session has moved to another process, so that the entry does not tell of it
	Busy   bool            // if it has no entry: its screen shows a turn, or a dialog
}

// Rests reports whether a runtime whose Stop has come rests, so that the turn is over. A dialog that is open then is that of a sub-agent, or of
// a turn that goes on and whose hook is late. In both cases the runtime goes on when the dialog is answered.
func (s RestSigns) Rests() bool {
	if s.Known && !s.Moved {
		return s.Status != runtimes.StatusBusy && s.Status != runtimes.StatusWaiting
	}
	return !s.Busy
}

// restSignsOf looks at an agent whose Stop has come.
func restSignsOf(d *Supervisor, ctx context.Context, a *daemon.Agent) RestSigns {
	rt := d.RuntimeOf(a)
	if !MayGoOn(&rt.Can) {
		return RestSigns{}
	}
	entry := d.Look(a)
	s := RestSigns{Known: entry.Known, Status: entry.Status, Moved: entry.Parked != "" || entry.Copied}
	if !s.Known && rt.Registry == nil && a.HasPane() {
		shown, err := d.ReadScreen(ctx, a)
		failing := sight.UnreadFor(d.Sight, a, err) // also a look that shows a turn ends the series
		s.Busy = shown.Busy || shown.Dialog != "" || err != nil && failing < sight.Unreadable
	}
	return s
}

// EndsTurn reports whether the agent's Stop has come, and it is not known yet whether its turn is over.
func EndsTurn(a *daemon.Agent) bool { return a.Started() && a.StopCameAt != nil }

// DocumentDone reports whether the turn is over in which an agent has written a handoff's document. That its Stop has come is not enough: the
// agent may have shown since then that it goes on in that turn, as by asking for a permission.
func DocumentDone(a *daemon.Agent, h *daemon.Handoff) bool {
	if h.StopHook == 0 || EndsTurn(a) {
		return false
	}
	return !a.Started() || a.AtRest() || h.PromptID != "" && h.PromptID != a.TurnPromptID
}

// EndTurnAtRest ends the turn of an agent whose Stop has come once its runtime rests. A turn may go on for hours behind a Stop that another
// hook has blocked.
func EndTurnAtRest(d *Supervisor, ctx context.Context, a *daemon.Agent) (moved bool, again time.Duration, err error) {
	if !restSignsOf(d, ctx, a).Rests() {
		return false, sight.Rarer(RestLook, d.TimeSpent(*a.StopCameAt)), nil
	}
	_, handing, err := d.OpenHandoff(ctx, a.ID)
	if err != nil {
		return false, 0, err
	}
	return true, 0, d.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}, Events: GoToRest(d, a, handing)})
}

// GoToRest ends the turn of an agent whose Stop has come and whose runtime rests, and returns the events. The agent has finished,
// unless it is being handed over, and the operator who wants to know that is told.
func GoToRest(d *Supervisor, a *daemon.Agent, handing bool) (events []*event.Event) {
	stop := a.LeaveTurn()
	if a.Be(a.Rest(), d.Now()) {
		events = append(events, d.Facts().StateEvent(a, map[string]any{"hook": "Stop"}))
	}
	if finishes(a) && !handing {
		a.Finish(stop)
		if d.FactsFor(a).NotifiesFinished(a) {
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
func finishedEvent(d *Supervisor, a *daemon.Agent) *event.Event {
	said := ""
	if a.LastMessage != "" {
		said = " " + words.Quote(a.LastMessage)
	}
	e := d.Event(event.AgentFinished, &a.ID, nil, map[string]any{
		"agent_name": a.Name, "message": fmt.Sprintf("Agent %d (%s) has finished its turn%s: `understudy agent show %[1]d`.", a.ID, a.Name, said),
	}).For(a.PipelineID, a.StepID)
	e.Notice = event.NoticeFinished
	return e
}
