package deliveries

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/tmux"
)

const (
	// maxEnters is how often Enter may be pressed for one text.
	maxEnters = 3
	// EntersWithin is how long after a text was typed the daemon may still press Enter for it.
	EntersWithin = maxEnters * EnterAfter
)

// wantsEnter reports whether the daemon may press Enter for a text that stands in the composer. A second Enter is needed if
// the runtime took the first one for a part of the text.
//
// But the agent may only be busy, and read both Enters later. If the runtime has put a person's draft aside, the first Enter
// then brings the draft back and the second would submit the draft. So wantsEnter is false while a draft is aside.
//
// Each daemon may press once beyond maxEnters, because an earlier daemon may have died between the commit that counts an
// Enter and the Enter itself.
func (d *Courier) wantsEnter(a *daemon.Agent, dl *daemon.Delivery, s *sight.Screen) bool {
	switch {
	case dl.Attempts == 0:
		return true
	case s.Stashed:
		return false
	}
	return dl.Attempts < maxEnters || d.lastEnter(a).delivery != dl.ID
}

// pressEnter presses Enter once more for a text that stands in the composer, as soon as untilNextEnter lets it.
func (d *Courier) pressEnter(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery, screen *sight.Screen) (bool, time.Duration, error) {
	if again := d.untilNextEnter(a, dl); again > 0 {
		return false, again, nil
	}
	dl.Press(dl.Attempts + 1)
	if moved, again, err := d.saveDelivery(ctx, a, dl, true); err != nil {
		return moved, again, err
	}
	term, err := d.TerminalOf(a)
	if err != nil {
		return false, 0, err
	}
	if err := d.sendEnter(ctx, a, dl, term, screen); err != nil && !errors.Is(err, tmux.ErrChanged) {
		return false, 0, fmt.Errorf("delivery %d: enter: %w", dl.ID, err)
	}
	return true, 0, nil
}

// standsInComposer reports whether the composer in an agent's pane holds the text of a delivery.
func (d *Courier) standsInComposer(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery) bool {
	s, err := d.ReadScreen(ctx, a)
	return err == nil && d.InFront(a) && s.Composer && s.Holds(dl.Text)
}

// takenSince reports whether the runtime has told of a typed text since its row was read, or the row cannot be read. Then somebody has
// submitted the text, and what the composer shows is another one.
func takenSince(ctx context.Context, d *Courier, dl *daemon.Delivery) bool {
	row, err := d.Store.Delivery(ctx, dl.ID)
	return err != nil || !row.Open() || row.Heard != 0
}

// press is an Enter that this daemon has pressed.
type press struct {
	delivery int64
	at       time.Time
}

// sendEnter presses Enter for a text that a screen shows, and remembers the press as the agent's lastEnter.
func (d *Courier) sendEnter(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery, term engine.Terminal, s *sight.Screen) error {
	if dl.Kind == daemon.KindExit && a.StopYields {
		if s = stillExits(ctx, d, a); s == nil || !s.Composer || !d.pastedOf(a, dl).stands(dl, s) {
			return tmux.ErrChanged
		}
	}
	err := term.Press(ctx, a.Ref(), s.Sight(), tmux.Enter)
	d.memories.Change(a.ID, func(m *courierMemory) { m.lastEnter = press{dl.ID, time.Now()} }) // after the call, because it may take long
	return err
}

// turnShows is how long a runtime may take from the submission of a prompt until something shows that a turn runs.
const turnShows = 50 * time.Millisecond

// stillExits returns the screen of an agent that its handoff has asked to exit, a moment after another look has shown the exit command; nil: a
// turn may run by now. A person may have submitted a prompt just before the daemon pasted the command. The runtime reads both at once, and
// only a moment later its screen, its registry or its hook shows the turn.
func stillExits(ctx context.Context, d *Courier, a *daemon.Agent) *sight.Screen {
	if !lane.Ticked(ctx, time.After(turnShows)) {
		return nil
	}
	s, err := d.ReadScreen(ctx, a)
	if err != nil || !d.InFront(a) || d.busyAgain(ctx, a, s) {
		return nil
	}
	return s
}

// lastEnter returns the last Enter that this daemon has pressed for an agent.
func (d *Courier) lastEnter(a *daemon.Agent) press {
	return d.memories.Of(a.ID).lastEnter
}

// timeLeftToTake returns how long the daemon still waits for a sign that the agent took a text. It waits for ack_timeout
// after the text was typed. After this daemon's last Enter for the text, which may come late, it waits for at least grace
// (or for ack_timeout, if that is less).
func (d *Courier) timeLeftToTake(a *daemon.Agent, dl *daemon.Delivery) time.Duration {
	limit := d.Settings().Handoff.AckTimeout
	left := d.TimeLeft(*dl.TypedAt, limit)
	if last := d.lastEnter(a); last.delivery == dl.ID {
		left = max(left, min(limit, engine.Grace)-time.Since(last.at))
	}
	return max(left, d.timeLeftOver(a, dl))
}

// untilNextEnter returns how long to wait before Enter may be pressed for a text that stands in the composer: EnterAfter since the last
// Enter, because the agent may not have taken that one yet, and [runtimes.Can.EnterAfter] since the paste. If an earlier daemon has pasted
// the text, that was before this one ran.
func (d *Courier) untilNextEnter(a *daemon.Agent, dl *daemon.Delivery) time.Duration {
	pasted := d.pastedOf(a, dl).at
	if pasted.IsZero() {
		pasted = d.RunsSince
	}
	return max(EnterAfter-time.Since(d.lastEnter(a).at), d.RuntimeOf(a).Can.EnterAfter-time.Since(pasted))
}

// NudgeExit helps an exit command that has had no effect. If an earlier daemon died before it typed the command, NudgeExit
// types it; tmux refuses to type it twice. If the command still stands in the composer, NudgeExit presses Enter again.
func (d *Courier) NudgeExit(ctx context.Context, a *daemon.Agent) {
	open, err := d.Store.OpenDeliveries(ctx, a.ID)
	if err != nil {
		return
	}
	screen, err := d.ReadScreen(ctx, a)
	dropsEnter := screen.Busy && d.RuntimeOf(a).Can.EnterAfter > 0
	if err != nil || !d.InFront(a) || dropsEnter || d.busyAgain(ctx, a, screen) {
		return
	}
	for i := range open {
		dl := &open[i]
		switch {
		case dl.Kind != daemon.KindExit, dl.Way == runtimes.ByEcho: // if the exit command had no effect, the ladder climbs on
		case dl.State == daemon.DeliveryTyping:
			_, _, err = d.TypeText(ctx, a, dl, screen)
		case d.wantsEnter(a, dl, screen) && screen.Composer && d.pastedOf(a, dl).stands(dl, screen):
			_, _, err = d.pressEnter(ctx, a, dl, screen)
		}
	}
	if err != nil && !engine.Retryable(err) {
		d.Log.Warn("exit command not helped", "agent_id", a.ID, "error", err)
	}
}

// exitTypedLate restarts the agent's exit_timeout if more than half of it went by before the exit command was typed. It
// reports whether it did so.
func (d *Courier) exitTypedLate(a *daemon.Agent, dl *daemon.Delivery) bool {
	late := dl.Kind == daemon.KindExit && dl.State == daemon.DeliveryTyped && a.StopStage == daemon.StopAsked && d.TimeOnRung(*a.StopStageAt) > d.Settings().Handoff.ExitTimeout/2
	if late {
		a.ClimbTo(daemon.StopAsked, d.Now())
	}
	return late
}
