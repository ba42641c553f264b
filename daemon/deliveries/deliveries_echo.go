package deliveries

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/tmux"
)

// A new version of a CLI may draw a screen that we do not know. Then the daemon delivers by echo: it pastes the text without
// Enter, and presses Enter only when it has seen the end of the text appear on the screen. A dialog that swallows the paste
// shows nothing, and so is not answered.

const (
	// unknownAfter is how long nothing on the screen of an idle agent must be known before texts are delivered by echo.
	unknownAfter = 10 * time.Second
	// echoWithin is how long the screen may take to show a pasted text.
	echoWithin = 3 * time.Second
)

// Unrecognised returns the screen of an idle agent if the daemon has known nothing on it for unknownAfter; nil: it knows
// the screen, or the agent is not idle, or another program is in front. A generic runtime takes a prompt only where its
// settings say so: a program that asks something would echo the text, and take it for the answer.
func (d *Courier) Unrecognised(ctx context.Context, a *daemon.Agent) *sight.Screen {
	since := sight.UnreadySince(d.Sight, a.ID)
	if d.RuntimeOf(a).Can.QuietAfter > 0 || since.IsZero() || time.Since(since) < unknownAfter || d.Look(a).Busy() || !d.InFront(a) {
		return nil
	}
	s, err := d.ReadScreen(ctx, a)
	if err != nil || s.Text == "" || s.Screen != (runtimes.Screen{}) {
		return nil
	}
	return s
}

// beginEcho commits the intention to deliver a text by echo, and does it. s is the screen, which the daemon does not know, or
// of which it knows only that it takes a prompt.
func (d *Courier) beginEcho(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery, s *sight.Screen) (bool, time.Duration, error) {
	if s.Screen == (runtimes.Screen{}) {
		d.tellUnknownScreen(ctx, a, s)
	}
	if err := d.commitIntention(ctx, a, dl, runtimes.ByEcho); err != nil || !dl.Open() {
		return err == nil, 0, err
	}
	if time.Since(s.At) > LookFresh { // look again: the screen may have changed during the commit
		if s = d.echoScreen(ctx, a); s == nil {
			return d.requeue(ctx, a, dl, daemon.HoldNotReady.Row().Says)
		}
	}
	return d.TypeByEcho(ctx, a, dl, s)
}

// echoScreen returns the screen of an agent to which a text can be delivered by echo; nil: none can be delivered now.
func (d *Courier) echoScreen(ctx context.Context, a *daemon.Agent) *sight.Screen {
	if d.RuntimeOf(a).Can.QuietAfter > 0 {
		s, _, _ := d.Composer(ctx, a)
		return s
	}
	return d.Unrecognised(ctx, a)
}

// tellUnknownScreen tells the operator, once for each version of a runtime, that its screen is not known.
func (d *Courier) tellUnknownScreen(ctx context.Context, a *daemon.Agent, s *sight.Screen) {
	rt := d.RuntimeOf(a)
	version := words.FirstLine(d.Version(ctx, d.Settings().Runtimes[a.Runtime]), 64)
	if !d.FirstTime("screen of " + rt.Name + " " + version) {
		return
	}
	const most = 4000 // bytes
	e := d.Event(event.AgentScreenUnknown, &a.ID, nil, map[string]any{
		"runtime": rt.Name, "version": version, "screen": words.Clip(s.Text, most),
		"message": fmt.Sprintf("%s (%s) shows a screen that this understudy does not know, for instance in the pane of agent %d. "+
			"Texts are delivered with more care and more slowly; see with `understudy --version` whether there is a newer one.",
			rt.Title, cmp.Or(version, "version not known"), a.ID),
	})
	e.Alert = true
	if err := d.Commit(ctx, &daemon.Change{Events: []*event.Event{e}}); err != nil {
		d.Log.Error("event not stored", "type", e.Type, "agent_id", a.ID, "error", err)
	}
}

// TypeByEcho pastes a text, and presses Enter when the screen shows the text. before is the screen before the paste. The
// intention is committed already.
func (d *Courier) TypeByEcho(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery, before *sight.Screen) (bool, time.Duration, error) {
	term, err := d.TerminalOf(a)
	if err != nil {
		return false, 0, err
	}
	if why, err := d.unwanted(ctx, a, dl); err != nil {
		return false, 0, err
	} else if why != "" {
		return d.decideByTranscript(ctx, a, dl, why)
	}
	text := dl.Text
	if d.RuntimeOf(a).Can.QuietAfter > 0 {
		text = strings.ReplaceAll(text, "\n", " ") // a program that reads lines would take each line for a prompt
	}
	err = term.Paste(ctx, a.Ref(), text, tmux.PasteOptions{Once: d.onceToken(a, dl), If: before.Sight()})
	switch {
	case errors.Is(err, tmux.ErrChanged):
		return d.requeue(ctx, a, dl, err.Error())
	case errors.Is(err, tmux.ErrGone), errors.Is(err, tmux.ErrDead):
		dl.DecideBy(daemon.NotSubmitted, daemon.EvidencePaneGone, d.Now())
		return d.saveDelivery(ctx, a, dl, false)
	case err != nil:
		return false, 0, fmt.Errorf("delivery %d: %w", dl.ID, err)
	}
	switch pressed, shown := d.EnterWhenShown(ctx, a, dl.Text, term, before); {
	case ctx.Err() != nil:
		return false, 0, context.Cause(ctx)
	case !pressed: // it stands, or will stand when the program reads it, where somebody, or the Enter of a later text, may submit it
		why := "did not show the text; Enter was not pressed"
		if shown {
			why = "shows the text, and changed each time before Enter could be pressed"
		}
		dl.Decide(daemon.Unconfirmed, "the screen, which is not known, "+why, d.Now())
		return d.saveDelivery(ctx, a, dl, false)
	}
	d.memories.Change(a.ID, func(m *courierMemory) { m.lastEnter = press{dl.ID, time.Now()} })
	return enteredByEcho(ctx, d, a, dl)
}

// enteredByEcho commits that Enter was pressed for a text that was delivered by echo. If the commit fails, the daemon still knows that it has
// pressed Enter, and commits it later.
func enteredByEcho(ctx context.Context, d *Courier, a *daemon.Agent, dl *daemon.Delivery) (bool, time.Duration, error) {
	if d.RuntimeOf(a).Can.QuietAfter > 0 {
		return true, 0, d.ReportTaken(ctx, a, dl)
	}
	dl.State = daemon.DeliveryTyped
	return d.saveDelivery(ctx, a, dl, true)
}

// EnterWhenShown presses Enter as soon as the screen shows a pasted text once more than before. It reports whether it
// pressed Enter, and whether it has seen the text.
func (d *Courier) EnterWhenShown(ctx context.Context, a *daemon.Agent, text string, term engine.Terminal, before *sight.Screen) (pressed, shown bool) {
	was, _ := runtimes.Echo(before.Text, text)
	if after := d.RuntimeOf(a).Can.EnterAfter; after > 0 && !lane.Ticked(ctx, time.After(after)) {
		return false, false
	}
	wait := 10 * time.Millisecond
	for until := time.Now().Add(echoWithin); time.Now().Before(until); wait *= 2 {
		s, err := d.ReadScreen(ctx, a)
		if err == nil && s.Dialog == "" && d.InFront(a) {
			times, row := runtimes.Echo(s.Text, text)
			if times > was && a.StopYields && text == d.RuntimeOf(a).Can.ExitText {
				if s = stillExits(ctx, d, a); s == nil {
					return false, true
				}
				times, row = runtimes.Echo(s.Text, text)
			}
			if times > was {
				err := term.Press(ctx, a.Ref(), tmux.Sight{Command: s.Command, Row: row}, tmux.Enter)
				if !errors.Is(err, tmux.ErrChanged) {
					return err == nil, true
				}
				if !shown { // tmux may have answered late
					shown, until = true, time.Now().Add(echoWithin)
				}
			}
		}
		if !lane.Ticked(ctx, time.After(min(wait, 200*time.Millisecond))) {
			return false, shown
		}
	}
	return false, shown
}
