package agents

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// PeekAtStarting looks at the panes of the agents that have not registered, because no hook reports a dialog before
// the session, and at those that are looked at all the time. It does not wait for tmux, and begins no second look while one
// still runs.
func (d *Launcher) PeekAtStarting(ctx context.Context, agents []daemon.Agent) {
	var starting []daemon.Agent
	for i := range agents {
		if a := &agents[i]; a.RegisteredAt == nil && a.SpawnedAt != nil && a.HasPane() || d.ScreenWatched(a) {
			starting = append(starting, *a)
		}
	}
	if len(starting) == 0 || !d.peeking.CompareAndSwap(false, true) {
		return
	}
	d.Lanes.Spawn(func() {
		defer d.peeking.Store(false)
		if err := d.peek(ctx, starting); err != nil && ctx.Err() == nil {
			d.Log.Debug("panes of starting agents not read; trying again", "error", err)
		}
	})
}

// peek reads the panes with one call for each tmux server, and wakes the agents whose rows differ from their panes.
func (d *Launcher) peek(ctx context.Context, starting []daemon.Agent) error {
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
				if err := d.WatchScreen(ctx, a, text); err != nil {
					return err
				}
				continue
			}
			s := d.RuntimeOf(a).ReadScreen(runtimes.View{Text: text})
			if d.NoteGlimpse(a, s.Dialog) {
				d.Wake(a.ID)
			}
			if s.Composer && d.RuntimeOf(a).Can.Registers == runtimes.RegistersByScreen {
				if err := d.Report(ctx, a, composerShown); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// composerShown registers an agent whose runtime calls no hook before its first prompt.
var composerShown = runtimes.Report{Event: hooks.SessionStart, Body: []byte(`{"source":"startup"}`), Key: "composer shown"}

// CorrectByPane changes the row of an agent without a session to what its pane showed last, and reports whether that
// changed anything. A daemon that has not looked at the pane yet believes the row.
func (d *Launcher) CorrectByPane(a *daemon.Agent) (changed bool) {
	g := sight.GlimpseOf(d.Sight, a.ID)
	switch {
	case g == sight.Glimpse{} || a.RegisteredAt != nil || !g.Open() && (a.State != daemon.Waiting || g.LooksWithout < 2):
		return false
	case !g.Open():
		now := d.Now()
		a.NoteAnswered(now)
		state := daemon.Starting
		if deliveries.HadTurn(a) { // its session has begun, but the hook of that was lost
			state = a.Rest()
		}
		a.Be(state, now)
	case a.State == daemon.Waiting && a.WaitsFor == g.Dialog:
		return false
	default:
		a.Ask(g.Dialog)
		a.Be(daemon.Waiting, d.Now())
	}
	a.Release()
	return true
}

// StartDeadline returns since when, and for how long, the daemon waits for the agent to register. While a dialog is
// open it waits for the person; after the answer the runtime has its whole time again.
func (d *Launcher) StartDeadline(a *daemon.Agent) (since time.Time, limit time.Duration) {
	limit = d.Settings().Handoff.RegistrationTimeout
	switch {
	case a.AsksBeforeSession():
		return a.StateAt, max(deliveries.OpeningLimit, limit)
	case a.AnsweredAt != nil:
		return *a.AnsweredAt, limit
	}
	return *a.SpawnedAt, limit
}
