package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/tmux"
)

// wantsEnter reports whether Enter may be pressed for a text that stands in the composer. The one before may have been
// taken for part of the text; or the agent has not read its keyboard yet, for it is busy. It takes both Enters then, and
// a draft that is aside comes back with the first: the second would submit it. A daemon presses at least one: those before
// it may have ended between the commit that counts an Enter and the Enter.
func (d *Daemon) wantsEnter(a *Agent, dl *Delivery, s *screen) bool {
	switch {
	case dl.Attempts == 0:
		return true
	case s.Stashed:
		return false
	}
	return dl.Attempts < maxEnters || d.lastEnter(a).delivery != dl.ID
}

// pressEnter presses Enter once more for a text that stands in the composer, unless the agent has yet to take the last one.
func (d *Daemon) pressEnter(ctx context.Context, a *Agent, dl *Delivery, screen *screen) (bool, time.Duration, error) {
	if again := d.untilNextEnter(a); again > 0 {
		return false, again, nil
	}
	dl.Attempts++
	if moved, again, err := d.saveDelivery(ctx, a, dl, true); err != nil {
		return moved, again, err
	}
	term, err := d.terminalOf(a)
	if err != nil {
		return false, 0, err
	}
	if err := d.sendEnter(ctx, a, dl, term, screen); err != nil && !errors.Is(err, tmux.ErrChanged) {
		return false, 0, fmt.Errorf("delivery %d: enter: %w", dl.ID, err)
	}
	return true, 0, nil
}

// press is an Enter of this daemon's.
type press struct {
	delivery int64
	at       time.Time
}

// sendEnter presses Enter for a text that a screen shows.
func (d *Daemon) sendEnter(ctx context.Context, a *Agent, dl *Delivery, term Terminal, s *screen) error {
	err := term.Press(ctx, a.Ref(), s.sight(), tmux.Enter)
	d.memories.change(a.ID, func(m *agentMemory) { m.lastEnter = press{dl.ID, time.Now()} }) // tmux may have taken long
	return err
}

// lastEnter is what this daemon has pressed for an agent last.
func (d *Daemon) lastEnter(a *Agent) press {
	return d.memories.of(a.ID).lastEnter
}

// timeLeftToTake is how long a text may still wait for a sign that it was taken: ack_timeout since it was typed, and up to half
// a minute since this daemon pressed Enter for it, which may have come late.
func (d *Daemon) timeLeftToTake(a *Agent, dl *Delivery) time.Duration {
	limit := d.Settings.Handoff.AckTimeout
	left := d.timeLeft(*dl.TypedAt, limit)
	if last := d.lastEnter(a); last.delivery == dl.ID {
		left = max(left, min(limit, grace)-time.Since(last.at))
	}
	return left
}

// untilNextEnter is how long an agent has yet to take the Enter that was pressed last.
func (d *Daemon) untilNextEnter(a *Agent) time.Duration {
	return enterAfter - time.Since(d.lastEnter(a).at)
}
