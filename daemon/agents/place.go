package agents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/tmux"
)

// placeWait is how long a successor waits for its predecessor's pane. tmux may notice the end of a program later than the
// daemon, and not at all while a child of the program has the terminal open.
const placeWait = 3 * time.Second

// placeOf returns the pane of its predecessor that an agent is to take; nil: it is to get a pane of its own. It depends on
// rows alone that change no more, so a daemon that was killed leaves the next one the same answer.
func (d *Launcher) placeOf(ctx context.Context, a *daemon.Agent) (*tmux.Ref, error) {
	if a.PreviousAgentID == nil {
		return nil, nil
	}
	list, err := d.Store.Handoffs(ctx, daemon.HandoffFilter{SuccessorID: a.ID, Limit: 1})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	prev, err := d.Store.Agent(ctx, *a.PreviousAgentID)
	if err != nil {
		return nil, fmt.Errorf("agent %d: its predecessor: %w", a.ID, err)
	}
	if !takesPlaceOf(&list[0], &prev) {
		return nil, nil
	}
	ref := prev.Ref()
	return &ref, nil
}

// takePlace starts an agent in the pane of its predecessor. moved says that it has done so, and again that the pane may be
// free soon. If neither is set, the agent cannot get that pane, now or later, and its own pane is to be made: before that, the
// place was closed, so that no tmux command of a killed daemon starts the agent there as well.
func (d *Launcher) takePlace(ctx context.Context, term engine.Terminal, a *daemon.Agent, place *tmux.Ref, spec tmux.Spec) (moved bool, again time.Duration, err error) {
	if _, bad := spec.Checked(); bad != nil {
		return false, 0, nil // Spawn reports it
	}
	at := tmux.Place{Ref: *place, Mark: engine.PaneMark(*a.PreviousAgentID), Close: d.TimeLeft(a.CreatedAt, placeWait) <= 0}
	info, err := term.Respawn(ctx, at, spec)
	switch {
	case err == nil:
		return true, 0, d.launched(ctx, a, info)
	case errors.Is(err, tmux.ErrGone), errors.Is(err, tmux.ErrMissing):
		return false, 0, nil
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		return false, 0, err // tmux may still start it; the next look finds it by its mark
	}
	// Look for the pane: an earlier command, or this one in spite of its error, may have taken the place.
	info, taken, lookErr := d.findPane(ctx, term, a, place)
	switch {
	case lookErr != nil:
		return false, 0, lookErr
	case taken:
		return true, 0, d.launched(ctx, a, info)
	case !errors.Is(err, tmux.ErrChanged):
		return false, 0, fmt.Errorf("agent %d: pane of its predecessor: %w", a.ID, err)
	case !at.Close:
		return false, 50 * time.Millisecond, nil
	}
	d.Log.Warn("the pane of the predecessor is not taken", "agent_id", a.ID, "pane", place.Pane, "error", err)
	return false, 0, nil
}
