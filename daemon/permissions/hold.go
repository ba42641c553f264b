package permissions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/intake"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/sight"
)

const (
	// paneLook is how often the daemon looks whether the dialog of a held permission was answered in the pane. Nobody waits
	// for that: only the hook ends later.
	paneLook = 250 * time.Millisecond
	// rejoinPermission is how long a permission without its hook stays open. The hook's command tries to reach a daemon that is
	// being replaced for 30 seconds.
	rejoinPermission = 40 * time.Second
)

const (
	noteInPane   = "answered in the pane"
	noteTimeout  = "nobody answered in time: if its dialog still stands, answer it in the pane"
	noteHookGone = "the hook that waited has gone: if its dialog still stands, answer it in the pane"
)

// hold waits until a permission has ended, and returns the answer to its hook; nil: the hook ends without one, and
// the dialog in the pane decides. stored is the output that the hook's row has already.
func (r *Room) hold(ctx context.Context, id int64, stored json.RawMessage, joined func(id int64)) (json.RawMessage, error) {
	p, err := r.store.Permission(ctx, id)
	if errors.Is(err, daemon.ErrNotFound) { // it came again, and no person was asked
		return stored, nil
	}
	if err != nil {
		return nil, err
	}
	if joined == nil && p.State == daemon.PermissionOpen {
		return nil, r.endPermission(ctx, p.ID, daemon.PermissionUnanswered, noteHookGone)
	}
	wake, leave := r.asking.join(p.ID, r.env.Now)
	defer leave()
	if joined != nil {
		joined(p.ID)
	}
	tick := time.NewTicker(paneLook)
	defer tick.Stop()
	var dialog paneDialog
	for {
		if p, err = r.store.Permission(ctx, p.ID); err != nil {
			return nil, err
		}
		switch p.State {
		case daemon.PermissionAnswered:
			if err := r.givePermission(ctx, p.ID); err != nil {
				return nil, err
			}
			continue
		case daemon.PermissionGiven:
			return intake.PermissionOutput(&p), nil
		case daemon.PermissionOpen:
		default:
			return nil, nil
		}
		if signs, ok := dialogSignsOf(r, ctx, &p, &dialog); ok {
			if state, note := signs.over(); state != "" {
				if err := r.endPermission(ctx, p.ID, state, note); err != nil {
					return nil, err
				}
				continue
			}
		}
		select {
		case <-ctx.Done():
		case <-wake:
		case <-tick.C:
		}
		if err := ctx.Err(); err != nil { // whatever else has happened in the same moment
			return nil, fmt.Errorf("permission %d: its hook: %w", p.ID, err)
		}
	}
}

// givePermission commits that the hook gets the answer. It is called before the hook gets it: a hook that loses the answer
// asks again, and gets the same one.
func (r *Room) givePermission(ctx context.Context, id int64) error {
	return r.changePermission(ctx, id, func(p *daemon.Permission, a *daemon.Agent, c *daemon.Change) error {
		if p.State != daemon.PermissionAnswered {
			return engine.ErrUnchanged
		}
		now := r.env.Now()
		p.End(daemon.PermissionGiven, "", now)
		r.workAfter(ctx, p, a, c, now)
		return nil
	})
}

// endPermission commits the end of a permission that nobody has answered, or whose answer did not get to its hook.
func (r *Room) endPermission(ctx context.Context, id int64, state daemon.PermissionState, note string) error {
	return r.changePermission(ctx, id, func(p *daemon.Permission, a *daemon.Agent, c *daemon.Change) error {
		now := r.env.Now()
		switch {
		case p.State == daemon.PermissionOpen:
		case p.State == daemon.PermissionAnswered && state != daemon.PermissionUnanswered || !p.Open():
			return engine.ErrUnchanged
		default:
			state = daemon.PermissionLost
		}
		p.End(state, note, now)
		e := r.env.Facts().PermissionEvent(event.PermissionEnded, p, a)
		if state == daemon.PermissionLost {
			e = engine.EventAbout(r.env.Engine, event.PermissionEnded, a, map[string]any{
				"permission_id": p.ID, "state": p.State, "verdict": p.Verdict, "message": fmt.Sprintf(
					"Your answer to permission %d of agent %d (%s) did not get there, because its hook had gone: answer it in its pane, `understudy agent attach %[2]d`.",
					p.ID, a.ID, a.Name),
			})
			e.Alert = true
		}
		c.Events = append(c.Events, e)
		if state == daemon.PermissionPane {
			r.workAfter(ctx, p, a, c, now)
		}
		return nil
	})
}

// workAfter makes the agent's state fit when one of its permissions has ended: it works, or it waits for the next permission.
func (r *Room) workAfter(ctx context.Context, p *daemon.Permission, a *daemon.Agent, c *daemon.Change, now time.Time) {
	if !a.Active() || a.State != daemon.Waiting {
		return
	}
	list, err := r.store.Permissions(ctx, daemon.PermissionFilter{AgentID: a.ID, Limit: sight.RecentPermissions})
	if err != nil {
		return // the registry will tell
	}
	if next := sight.FirstAsked(list, p.ID, a.StateAt); next != nil {
		a.Ask(sight.AskedFor(next))
		c.Agents = []*daemon.Agent{a}
		return
	}
	sight.NoteAnswered(r.env.Sight, a.ID, now)
	a.Be(daemon.Working, now)
	c.Agents = []*daemon.Agent{a}
	c.Events = append(c.Events, r.env.Facts().StateEvent(a, map[string]any{"permission_id": p.ID}))
}

// changePermission commits a change of a permission. If another writer changes a row first, it reads both rows again and
// calls change again.
func (r *Room) changePermission(ctx context.Context, id int64, change func(p *daemon.Permission, a *daemon.Agent, c *daemon.Change) error) error {
	for {
		p, err := r.Permission(ctx, id)
		if err != nil {
			return err
		}
		a, err := r.store.Agent(ctx, p.AgentID)
		if err != nil {
			return err
		}
		c := daemon.Change{Permissions: []*daemon.Permission{&p}}
		switch err := change(&p, &a, &c); {
		case errors.Is(err, engine.ErrUnchanged):
			return nil
		case err != nil:
			return err
		}
		err = r.env.Commit(ctx, &c)
		switch {
		case errors.Is(err, daemon.ErrMoved) && ctx.Err() == nil:
			continue
		case err != nil:
			return fmt.Errorf("permission %d: %w", id, err)
		case !p.Open():
			r.asking.forget(id)
		}
		r.asking.tell(id)
		return nil
	}
}

// endLeft ends the permissions whose hooks have gone, until ctx ends.
func (r *Room) endLeft(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for again := 0; ; again-- {
		// Read the rows again from time to time: the commit of a hook may have succeeded although the daemon was told otherwise.
		if again <= 0 && r.notePermissions(ctx) {
			again = int(rejoinPermission / time.Second)
		}
		left := r.asking.left()
		for _, id := range slices.Sorted(maps.Keys(left)) {
			r.seeToLeft(ctx, id, left[id])
		}
		if !lane.Ticked(ctx, tick.C) {
			return
		}
	}
}

// notePermissions remembers the open permissions of this host. It returns false if they can't be read now.
func (r *Room) notePermissions(ctx context.Context) bool {
	for before := int64(0); ; {
		open, err := r.store.Permissions(ctx, daemon.PermissionFilter{Host: r.env.Host, Open: true, Before: before})
		if err != nil {
			return false
		}
		for i := range open {
			r.asking.note(&open[i], r.env.Now())
			before = open[i].ID
		}
		if len(open) == 0 {
			return true
		}
	}
}

// seeToLeft ends a permission for which no hook waits, once its hook can't come back, or its dialog is closed.
func (r *Room) seeToLeft(ctx context.Context, id int64, since time.Time) {
	p, err := r.store.Permission(ctx, id)
	switch {
	case errors.Is(err, daemon.ErrNotFound), err == nil && !p.Open():
		r.asking.forget(id)
		return
	case err != nil:
		return // it is looked at again in a second
	}
	signs, _ := dialogSignsOf(r, ctx, &p, &paneDialog{})
	state, note := signs.over()
	if state == "" && r.env.TimeSpent(since) >= rejoinPermission {
		state, note = daemon.PermissionUnanswered, noteHookGone
	}
	if state == "" || p.State == daemon.PermissionAnswered && state == daemon.PermissionPane && r.env.TimeSpent(since) < rejoinPermission {
		return
	}
	if p.State == daemon.PermissionAnswered {
		state, note = daemon.PermissionUnanswered, noteHookGone
	}
	if err := r.endPermission(ctx, id, state, note); err != nil && ctx.Err() == nil {
		r.env.Log.Warn("a permission without a hook could not be ended: it is tried again", "permission_id", id, "error", err)
	}
}
