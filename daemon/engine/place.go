package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// placeWait is how long a successor waits for its predecessor's pane. tmux may notice the end of a program later than the
// daemon, and not at all while a child of the program has the terminal open.
const placeWait = 3 * time.Second

// inPlace decides whether a new handoff is in place.
func (d *Daemon) inPlace(a *daemon.Agent, in *HandoffRequest, heirs []daemon.HandoffHeir) bool {
	switch {
	case in.Keep || len(heirs) > 1:
		return false
	case in.InPlace != nil:
		return *in.InPlace
	}
	return a.Host == d.Host && d.Settings().Handoff.InPlace
}

// placeOf returns the pane of its predecessor that an agent is to take; nil: it is to get a pane of its own. It depends on
// rows alone that change no more, so a daemon that was killed leaves the next one the same answer.
func (d *Daemon) placeOf(ctx context.Context, a *daemon.Agent) (*tmux.Ref, error) {
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
	if !list[0].TakesPlaceOf(&prev) {
		return nil, nil
	}
	ref := prev.Ref()
	return &ref, nil
}

// takePlace starts an agent in the pane of its predecessor. moved says that it has done so, and again that the pane may be
// free soon. If neither is set, the agent cannot get that pane, now or later, and its own pane is to be made: before that, the
// place was closed, so that no tmux command of a killed daemon starts the agent there as well.
func (d *Daemon) takePlace(ctx context.Context, term Terminal, a *daemon.Agent, place *tmux.Ref, spec tmux.Spec) (moved bool, again time.Duration, err error) {
	if _, bad := spec.Checked(); bad != nil {
		return false, 0, nil // Spawn reports it
	}
	at := tmux.Place{Ref: *place, Mark: paneMark(*a.PreviousAgentID), Close: d.timeLeft(a.CreatedAt, placeWait) <= 0}
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

// ownPane is the tmux server of a managed agent's pane, of which a successor may take the place at any moment. What is meant for
// the agent does not reach the successor, even if tmux runs it late or a daemon that was killed has sent it: tmux compares the
// mark in the same pass. The pane of a successor is gone for the agent.
type ownPane struct {
	Terminal
	mark string
}

func (o ownPane) Paste(ctx context.Context, ref tmux.Ref, text string, opt tmux.PasteOptions) error {
	opt.If.Mark = o.mark
	return o.Terminal.Paste(ctx, ref, text, opt)
}

func (o ownPane) Press(ctx context.Context, ref tmux.Ref, seen tmux.Sight, keys ...tmux.Key) error {
	seen.Mark = o.mark
	return o.Terminal.Press(ctx, ref, seen, keys...)
}

func (o ownPane) Type(ctx context.Context, ref tmux.Ref, seen tmux.Sight, text string) error {
	seen.Mark = o.mark
	return o.Terminal.Type(ctx, ref, seen, text)
}

func (o ownPane) Kill(ctx context.Context, ref tmux.Ref) error {
	return o.Terminal.KillMarked(ctx, ref, o.mark)
}

func (o ownPane) Inspect(ctx context.Context, ref tmux.Ref) (tmux.PaneInfo, error) {
	info, err := o.Terminal.Inspect(ctx, ref)
	if err == nil && info.Mark != o.mark {
		return tmux.PaneInfo{}, fmt.Errorf("pane %s: it is not that of agent %s: %w", ref, o.mark, tmux.ErrGone)
	}
	return info, err
}
