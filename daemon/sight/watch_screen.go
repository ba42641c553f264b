package sight

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// ScreenWatched reports whether the pane of a registered agent is looked at all the time: because its runtime shows some
// dialogs, or their end, on the screen only, or because the hook at the end of the running turn may be lost.
func (d *Sight) ScreenWatched(a *daemon.Agent) bool {
	can := &d.RuntimeOf(a).Can
	return a.RegisteredAt != nil && a.HasPane() && a.StopAskedAt == nil && a.WaitsFor != daemon.WaitsForFg &&
		(can.WatchScreen || can.ScreenTurns && InTurn(a) || asksAtLimit(a, d.Sighted(a.ID), d.TimeSpent(a.StateAt)))
}

// limitAsks is how long after a usage limit a dialog counts as the one that the runtime has opened about it. A person who opens that
// dialog later reads it.
const limitAsks = 10 * time.Second

// asksAtLimit reports whether a dialog has opened in an agent that has just hit a usage limit: see [runtimes.Screen.Limit].
func asksAtLimit(a *daemon.Agent, s sighting, limited time.Duration) bool {
	return a.State == daemon.Limited && s.Status == runtimes.StatusWaiting && limited < limitAsks
}

// InTurn reports whether a turn of the agent runs. It may wait in a dialog: the hooks of the dialog's end and of the turn's may both be lost.
func InTurn(a *daemon.Agent) bool { return a.State == daemon.Working || a.State == daemon.Waiting }

// stillFor is how long the screen of an agent must show no turn and no dialog until its turn counts as ended. The hook of the end
// comes within less time, unless its process was killed.
const stillFor = 15 * time.Second

// still is since when the screen of an agent in a turn has shown no turn.
type still struct {
	since time.Time
	hook  int64 // the agent's newest hook then
}

// watchTurn reports the end of a turn that no hook has reported.
func (d *Sight) watchTurn(ctx context.Context, a *daemon.Agent, s runtimes.Screen) error {
	now, since := d.Now(), time.Time{}
	d.memories.Change(a.ID, func(m *sightMemory) {
		switch {
		case !InTurn(a) || s.Busy || s.Dialog != "" || !s.Composer:
			m.still = still{}
		case m.still.hook != a.LastHook || m.still.since.IsZero():
			m.still = still{now, a.LastHook}
		}
		since = m.still.since
	})
	if since.IsZero() || d.TimeSpent(since) < stillFor {
		return nil
	}
	return d.Report(ctx, a, runtimes.Report{
		Event: hooks.Notification, Key: fmt.Sprintf("idle after hook %d", a.LastHook), Body: []byte(`{"notification_type":"idle_prompt"}`),
	})
}

// WatchScreen reports a dialog that no hook has reported, and the end of a dialog that no hook reports. Between two dialogs
// the pane may be empty for a moment, so one look without a dialog does not end it.
func (d *Sight) WatchScreen(ctx context.Context, a *daemon.Agent, text string) error {
	rt := d.RuntimeOf(a)
	s := rt.ReadScreen(runtimes.View{Text: text})
	if left, err := d.leaveLimit(ctx, a, s.Limit); left || err != nil {
		return err
	}
	if rt.Can.ScreenTurns {
		if err := d.watchTurn(ctx, a, s); err != nil {
			return err
		}
	}
	if !rt.Can.WatchScreen {
		return nil
	}
	dialog := s.Dialog
	d.NoteGlimpse(a, dialog)
	open := d.memories.Of(a.ID).glimpse.Open()
	switch {
	case open && a.State == daemon.Waiting && anotherFollows(d, a, words.Line(dialog)):
		return d.Report(ctx, a, runtimes.Report{
			Event: hooks.Notification, Key: fmt.Sprintf("next dialog after hook %d", a.LastHook),
			Body: event.JSON(map[string]string{"notification_type": DialogFollows, "message": words.Line(dialog)}),
		})
	case open && (a.State == daemon.Idle || a.State == daemon.Working):
		return d.Report(ctx, a, runtimes.Report{
			Event: hooks.Notification, Key: fmt.Sprintf("dialog after hook %d", a.LastHook),
			Body: event.JSON(map[string]string{"notification_type": "permission_prompt", "message": words.Line(dialog)}),
		})
	case !open && a.State == daemon.Waiting && d.memories.Of(a.ID).glimpse.LooksWithout >= 2:
		s, err := d.ReadScreen(ctx, a)
		if err != nil || s.Dialog != "" || !s.Composer {
			return err
		}
		r := runtimes.Report{Event: hooks.DialogClosed, Key: fmt.Sprintf("dialog closed after hook %d", a.LastHook), Body: []byte(`{}`)}
		if !s.Busy { // the dialog was not part of a turn
			r.Event, r.Body = hooks.Notification, []byte(`{"notification_type":"idle_prompt"}`)
		}
		return d.Report(ctx, a, r)
	}
	return nil
}

// DialogFollows is the type of our own Notification that another dialog has taken the place of the one for which the agent waits.
const DialogFollows = "dialog_follows"

// namedDialog is the dialog that the screen of a waiting agent shows.
type namedDialog struct {
	hook  int64  // the agent's newest hook then
	name  string // of the dialog for which it waits
	other string // that the last look has shown in its place
}

// anotherFollows reports whether another dialog than the one for which an agent waits stands on its screen, and no hook tells of it. It
// believes two looks that show the same: a dialog may be drawn in parts.
func anotherFollows(d *Sight, a *daemon.Agent, name string) (follows bool) {
	if name == "" {
		return false
	}
	d.memories.Change(a.ID, func(m *sightMemory) {
		switch s := &m.shown; {
		case s.hook != a.LastHook || s.name == "":
			*s = namedDialog{hook: a.LastHook, name: name}
		case s.name == name:
			s.other = ""
		case s.other == name:
			follows = true
		default:
			s.other = name
		}
	})
	return follows
}

// maxLimitKeys is how many keys the daemon presses in one dialog about a usage limit. A dialog that is still open then is
// reported as every other one.
const maxLimitKeys = 8

// leaveLimit answers the dialog about a usage limit so that the limit alone remains, about which the policy decides: while the dialog
// is open, the agent can neither write its document nor be asked to exit, and Gemini CLI's turn goes on, whose end it reports.
// leaveLimit presses one key at each look, and tmux presses it only if the chosen answer is still the one that was seen. A
// daemon that restarts looks anew. leaveLimit returns false if no such dialog is open, or if the keys did not help.
func (d *Sight) leaveLimit(ctx context.Context, a *daemon.Agent, open bool) (left bool, err error) {
	pressed := 0
	d.memories.Change(a.ID, func(m *sightMemory) {
		if !open || a.State == daemon.Limited && !m.limited.Equal(a.StateAt) {
			m.limitKeys, m.limited = 0, a.StateAt
		}
		pressed = m.limitKeys
	})
	if !open || pressed >= maxLimitKeys {
		return false, nil
	}
	s, err := d.ReadScreen(ctx, a)
	if err != nil || !s.Limit || s.Row == "" || !d.InFront(a) {
		return false, err
	}
	term, err := d.TerminalOf(a)
	if err != nil {
		return false, err
	}
	key := tmux.Down
	if s.Stops {
		key = tmux.Enter
	}
	d.memories.Change(a.ID, func(m *sightMemory) { m.limitKeys++ })
	if err := term.Press(ctx, a.Ref(), s.Sight(), key); err != nil && !errors.Is(err, tmux.ErrChanged) {
		return false, fmt.Errorf("agent %d: usage limit: %w", a.ID, err)
	}
	return true, nil
}

// Glimpse is what the pane of an agent without a session showed at the last looks.
type Glimpse struct {
	Dialog       string // the last dialog that was seen
	LooksWithout int    // how many looks in a row have seen none since
}

// Open reports whether a dialog is open. Between two dialogs the pane may be empty for a moment, so one look without
// a dialog does not end it.
func (g Glimpse) Open() bool { return g.Dialog != "" && g.LooksWithout < 2 }

// NoteGlimpse notes what an agent's pane shows, and reports whether the row differs from it.
func (d *Sight) NoteGlimpse(a *daemon.Agent, dialog string) bool {
	var g Glimpse
	d.memories.Change(a.ID, func(m *sightMemory) {
		m.glimpse.LooksWithout++
		if dialog != "" {
			m.glimpse = Glimpse{Dialog: words.Clip(words.Line(dialog), daemon.MaxWaitsFor)}
		}
		g = m.glimpse
	})
	return g.Open() != (a.State == daemon.Waiting) || g.Open() && g.Dialog != a.WaitsFor
}

// GlimpseOf returns what the pane of an agent showed at the last looks.
func GlimpseOf(d *Sight, agentID int64) Glimpse { return d.memories.Of(agentID).glimpse }
