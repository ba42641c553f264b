package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// openingLimit is how long a person may take to answer a dialog that a runtime opens before its session: whether the
// folder is trusted, how to log in. While it is open, no deadline of the registration runs.
const openingLimit = time.Hour

// glimpse is what the pane of an agent without a session showed at the last looks.
type glimpse struct {
	dialog       string // the last dialog that was seen
	looksWithout int    // how many looks in a row have seen none since
}

// open reports whether a dialog is open. Between two dialogs the pane may be empty for a moment, so one look without
// a dialog does not end it.
func (g glimpse) open() bool { return g.dialog != "" && g.looksWithout < 2 }

// peekAtStarting looks at the panes of the agents that have not registered, because no hook reports a dialog before
// the session, and at those that are looked at all the time. It does not wait for tmux, and begins no second look while one
// still runs.
func (d *Daemon) peekAtStarting(ctx context.Context, agents []daemon.Agent) {
	var starting []daemon.Agent
	for i := range agents {
		if a := &agents[i]; a.RegisteredAt == nil && a.SpawnedAt != nil && a.HasPane() || d.screenWatched(a) {
			starting = append(starting, *a)
		}
	}
	if len(starting) == 0 || !d.peeking.CompareAndSwap(false, true) {
		return
	}
	d.lanes.Spawn(func() {
		defer d.peeking.Store(false)
		if err := d.peek(ctx, starting); err != nil && ctx.Err() == nil {
			d.Log.Debug("panes of starting agents not read; trying again", "error", err)
		}
	})
}

// peek reads the panes with one call for each tmux server, and wakes the agents whose rows differ from their panes.
func (d *Daemon) peek(ctx context.Context, starting []daemon.Agent) error {
	refs := map[string][]tmux.Ref{}
	for i := range starting {
		refs[starting[i].PaneSocket] = append(refs[starting[i].PaneSocket], starting[i].Ref())
	}
	for _, socket := range slices.Sorted(maps.Keys(refs)) {
		term, err := d.Terminal(socket)
		if err != nil {
			return err
		}
		shown, err := term.Capture(ctx, 0, false, refs[socket]...)
		if err != nil {
			return err
		}
		for i := range starting {
			a := &starting[i]
			text, ok := shown[*a.Pane]
			if a.PaneSocket != socket || !ok {
				continue
			}
			if a.RegisteredAt != nil {
				if err := d.watchScreen(ctx, a, text); err != nil {
					return err
				}
				continue
			}
			s := d.runtimeOf(a).ReadScreen(runtimes.View{Text: text})
			if d.noteGlimpse(a, s.Dialog) {
				d.Wake(a.ID)
			}
			if s.Composer && d.runtimeOf(a).Can.Registers == runtimes.RegistersByScreen {
				if err := d.report(ctx, a, composerShown); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// composerShown registers an agent whose runtime calls no hook before its first prompt.
var composerShown = runtimes.Report{Event: hooks.SessionStart, Body: []byte(`{"source":"startup"}`), Key: "composer shown"}

// noteGlimpse notes what an agent's pane shows, and reports whether the row differs from it.
func (d *Daemon) noteGlimpse(a *daemon.Agent, dialog string) bool {
	var g glimpse
	d.memories.change(a.ID, func(m *agentMemory) {
		m.glimpse.looksWithout++
		if dialog != "" {
			m.glimpse = glimpse{dialog: words.Clip(words.Line(dialog), daemon.MaxWaitsFor)}
		}
		g = m.glimpse
	})
	return g.open() != (a.State == daemon.Waiting) || g.open() && g.dialog != a.WaitsFor
}

// correctByPane changes the row of an agent without a session to what its pane showed last, and reports whether that
// changed anything. A daemon that has not looked at the pane yet believes the row.
func (d *Daemon) correctByPane(a *daemon.Agent) (changed bool) {
	g := d.memories.of(a.ID).glimpse
	switch {
	case g == glimpse{} || a.RegisteredAt != nil || !g.open() && (a.State != daemon.Waiting || g.looksWithout < 2):
		return false
	case !g.open():
		now := d.now()
		a.NoteAnswered(now)
		state := daemon.Starting
		if hadTurn(a) { // its session has begun, but the hook of that was lost
			state = a.Rest()
		}
		a.Be(state, now)
	case a.State == daemon.Waiting && a.WaitsFor == g.dialog:
		return false
	default:
		a.Ask(g.dialog)
		a.Be(daemon.Waiting, d.now())
	}
	a.Release()
	return true
}

// hadTurn reports whether a hook has told of a turn of the agent.
func hadTurn(a *daemon.Agent) bool { return a.TurnPromptID != "" || a.LastStop != 0 }

// startDeadline returns since when, and for how long, the daemon waits for the agent to register. While a dialog is
// open it waits for the person; after the answer the runtime has its whole time again.
func (d *Daemon) startDeadline(a *daemon.Agent) (since time.Time, limit time.Duration) {
	limit = d.Settings().Handoff.RegistrationTimeout
	switch {
	case a.AsksBeforeSession():
		return a.StateAt, max(openingLimit, limit)
	case a.AnsweredAt != nil:
		return *a.AnsweredAt, limit
	}
	return *a.SpawnedAt, limit
}

// tellOverdue tells the operator once that an agent has not registered in time. The hold on its row says that it was told.
func (d *Daemon) tellOverdue(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	if a.RegisteredAt != nil || a.SpawnedAt == nil || a.Hold != nil && !a.Hold.Is(daemon.HoldBrokeOff) {
		return false, 0, nil
	}
	since, limit := d.startDeadline(a)
	if left := d.timeLeft(since, limit); left > 0 {
		return false, left, nil
	}
	overdue := daemon.Hold{Kind: daemon.HoldUnanswered, HoldDetail: daemon.HoldDetail{Limit: limit.String(), Dialog: a.WaitsFor}}
	if !a.AsksBeforeSession() {
		pane := d.shows(ctx, a)
		overdue = daemon.Hold{Kind: daemon.HoldNotRegistered, HoldDetail: daemon.HoldDetail{Limit: limit.String(), Dialog: pane.Dialog, Composer: pane.Composer, Line: pane.Line}}
	}
	a.HoldBy(overdue, d.now())
	e := d.event(event.AgentFailed, &a.ID, nil, map[string]any{"code": daemon.CodeRegistrationTimeout,
		"message": fmt.Sprintf("Agent %d: %s; look at it with `understudy agent attach %d`.", a.ID, a.Hold.Words(), a.ID)})
	e.Alert = true
	return true, 0, d.commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}, Events: []*event.Event{e}})
}

// awaitAnswer waits for a successor that has not registered. While a person may answer a dialog in its pane, and from
// the answer on, the deadline of startDeadline replaces that of the phase.
func (r *handoffRun) awaitAnswer(next *daemon.Agent) outcome {
	out := stayFor(time.Second, next.Hold.Value())
	if !next.AsksBeforeSession() && next.AnsweredAt == nil {
		return out
	}
	since, limit := r.d.startDeadline(next)
	switch out.extended = r.d.timeLeft(since, limit) > 0; {
	case !out.extended && next.AsksBeforeSession():
		return r.failed(daemon.CodeRegistrationTimeout, "Nobody answered the dialog in the successor's pane within %s%s", limit, r.paneShows())
	case !out.extended:
		return out
	}
	if at := since.Add(limit); *r.deadline == nil || !(*r.deadline).Equal(at) {
		*r.deadline, out.wrote = &at, true
	}
	if next.AsksBeforeSession() {
		out.hold = daemon.Hold{Kind: daemon.HoldHeirDialog, HoldDetail: daemon.HoldDetail{AgentID: next.ID, Dialog: next.WaitsFor}}
		out.alert = next.PipelineID != nil // without a pipeline, the successor's own event tells the operator
	}
	return out
}
