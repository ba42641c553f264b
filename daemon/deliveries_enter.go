package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/understudyd/understudy/tmux"
)

// wantsEnter reports whether Enter may be pressed for a text that stands in the composer. The Enter before may have
// been taken for part of the text.
//
// The agent may also be busy and not have read that Enter yet; then it takes both. If a person's draft is aside, the
// first Enter brings it back, and the second would submit it: so wantsEnter is false.
//
// Each daemon may press once beyond maxEnters: an earlier one may have died between the commit that counts an Enter
// and the Enter itself.
func (d *Daemon) wantsEnter(a *Agent, dl *Delivery, s *screen) bool {
	switch {
	case dl.Attempts == 0:
		return true
	case s.Stashed:
		return false
	}
	return dl.Attempts < maxEnters || d.lastEnter(a).delivery != dl.ID
}

// pressEnter presses Enter once more for a text that stands in the composer, unless the last Enter was too short a
// time ago for the agent to have taken it.
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

// press is an Enter that this daemon has pressed.
type press struct {
	delivery int64
	at       time.Time
}

// sendEnter presses Enter for a text that a screen shows, and remembers it.
func (d *Daemon) sendEnter(ctx context.Context, a *Agent, dl *Delivery, term Terminal, s *screen) error {
	err := term.Press(ctx, a.Ref(), s.sight(), tmux.Enter)
	d.memories.change(a.ID, func(m *agentMemory) { m.lastEnter = press{dl.ID, time.Now()} }) // after the call, which may have taken long
	return err
}

// lastEnter returns the last Enter that this daemon has pressed for an agent.
func (d *Daemon) lastEnter(a *Agent) press {
	return d.memories.of(a.ID).lastEnter
}

// timeLeftToTake returns how long the daemon still waits for a sign that a text was taken: ack_timeout since it was typed,
// and at least half a minute (or ack_timeout, if less) since this daemon pressed Enter for it, which may have been late.
func (d *Daemon) timeLeftToTake(a *Agent, dl *Delivery) time.Duration {
	limit := d.Settings.Handoff.AckTimeout
	left := d.timeLeft(*dl.TypedAt, limit)
	if last := d.lastEnter(a); last.delivery == dl.ID {
		left = max(left, min(limit, grace)-time.Since(last.at))
	}
	return left
}

// untilNextEnter returns how long to wait before Enter may be pressed again for an agent.
func (d *Daemon) untilNextEnter(a *Agent) time.Duration {
	return enterAfter - time.Since(d.lastEnter(a).at)
}

// nudgeExit types the exit command that a daemon which died did not type, or presses Enter again for one that stands
// in the composer. tmux refuses to type it twice.
func (d *Daemon) nudgeExit(ctx context.Context, a *Agent) {
	open, err := d.Store.OpenDeliveries(ctx, a.ID)
	if err != nil {
		return
	}
	screen, err := d.readScreen(ctx, a)
	if err != nil || !d.inFront(a) || d.busyAgain(ctx, a, screen) {
		return
	}
	for i := range open {
		dl := &open[i]
		switch {
		case dl.Kind != KindExit:
		case dl.State == DeliveryTyping:
			_, _, err = d.typeText(ctx, a, dl, screen)
		case d.wantsEnter(a, dl, screen) && screen.Composer && strings.TrimSpace(screen.Draft) == dl.Text:
			_, _, err = d.pressEnter(ctx, a, dl, screen)
		}
	}
	if err != nil && !retryable(err) {
		d.Log.Warn("exit command not helped", "agent_id", a.ID, "error", err)
	}
}
