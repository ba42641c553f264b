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
// a draft that is aside comes back with the first: the second would submit it.
func (d *Delivery) wantsEnter(s *screen) bool {
	return d.Attempts == 0 || d.Attempts < maxEnters && !s.Stashed
}

// pressEnter presses Enter once more for a text that stands in the composer, unless the agent has yet to take the last one.
func (d *Daemon) pressEnter(ctx context.Context, a *Agent, dl *Delivery, screen *screen) (bool, time.Duration, error) {
	if again := d.untilEnter(a); again > 0 {
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
	if err := d.enter(ctx, a, term, screen); err != nil && !errors.Is(err, tmux.ErrChanged) {
		return false, 0, fmt.Errorf("delivery %d: enter: %w", dl.ID, err)
	}
	return true, 0, nil
}

// enter presses Enter for what a screen shows.
func (d *Daemon) enter(ctx context.Context, a *Agent, term Terminal, s *screen) error {
	d.mu.Lock()
	d.entered[a.ID] = time.Now()
	d.mu.Unlock()
	return term.Press(ctx, a.Ref(), s.sight(), tmux.Enter)
}

// untilEnter is how long an agent has yet to take the Enter that was pressed last.
func (d *Daemon) untilEnter(a *Agent) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return enterAfter - time.Since(d.entered[a.ID])
}
