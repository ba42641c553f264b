package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/lane"
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

// holdPermission waits until a permission has ended, and returns the answer to its hook; nil: the hook ends without one, and
// the dialog in the pane decides. stored is the output that the hook's row has already.
func (d *Daemon) holdPermission(ctx context.Context, cmd *command, stored json.RawMessage, joined func(id int64)) (json.RawMessage, error) {
	p, err := d.Store.Permission(ctx, cmd.permissionID)
	if errors.Is(err, ErrNotFound) { // it came again, and no person was asked
		return stored, nil
	}
	if err != nil {
		return nil, err
	}
	if joined == nil && p.State == PermissionOpen {
		return nil, d.endPermission(ctx, p.ID, PermissionUnanswered, noteHookGone)
	}
	wake, leave := d.asking.join(p.ID, p.AgentID, d.now)
	defer leave()
	if joined != nil {
		joined(p.ID)
	}
	tick := time.NewTicker(paneLook)
	defer tick.Stop()
	var dialog paneDialog
	for {
		if p, err = d.Store.Permission(ctx, p.ID); err != nil {
			return nil, err
		}
		switch p.State {
		case PermissionAnswered:
			if err := d.givePermission(ctx, p.ID); err != nil {
				return nil, err
			}
			continue
		case PermissionGiven:
			return p.output(), nil
		case PermissionOpen:
		default:
			return nil, nil
		}
		if signs, ok := dialogSignsOf(d, ctx, &p, &dialog); ok {
			if state, note := signs.over(); state != "" {
				if err := d.endPermission(ctx, p.ID, state, note); err != nil {
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
func (d *Daemon) givePermission(ctx context.Context, id int64) error {
	return d.changePermission(ctx, id, func(p *Permission, a *Agent, c *Change) error {
		if p.State != PermissionAnswered {
			return ErrUnchanged
		}
		now := d.now()
		p.end(PermissionGiven, "", now)
		d.workAfter(ctx, p, a, c, now)
		return nil
	})
}

// endPermission commits the end of a permission that nobody has answered, or whose answer did not get to its hook.
func (d *Daemon) endPermission(ctx context.Context, id int64, state PermissionState, note string) error {
	return d.changePermission(ctx, id, func(p *Permission, a *Agent, c *Change) error {
		now := d.now()
		switch {
		case p.State == PermissionOpen:
		case p.State == PermissionAnswered && state != PermissionUnanswered || !p.Open():
			return ErrUnchanged
		default:
			state = PermissionLost
		}
		p.end(state, note, now)
		e := d.facts().permissionEvent(event.PermissionEnded, p, a)
		if state == PermissionLost {
			e = d.event(event.PermissionEnded, &p.AgentID, nil, map[string]any{
				"permission_id": p.ID, "state": p.State, "verdict": p.Verdict, "message": fmt.Sprintf(
					"Your answer to permission %d of agent %d (%s) did not get there, because its hook had gone: answer it in its pane, `understudy agent attach %[2]d`.",
					p.ID, a.ID, a.Name),
			}).For(a.PipelineID, a.StepID)
			e.Alert = true
		}
		c.Events = append(c.Events, e)
		if state == PermissionPane {
			d.workAfter(ctx, p, a, c, now)
		}
		return nil
	})
}

// workAfter makes the agent's state fit when one of its permissions has ended: it works, or it waits for the next permission.
func (d *Daemon) workAfter(ctx context.Context, p *Permission, a *Agent, c *Change, now time.Time) {
	if !a.Active() || a.State != Waiting {
		return
	}
	list, err := d.Store.Permissions(ctx, PermissionFilter{AgentID: a.ID, Limit: recentPermissions})
	if err != nil {
		return // the registry will tell
	}
	if next := firstAsked(list, p.ID, a.StateAt); next != nil {
		a.WaitsFor = askedFor(next)
		c.Agents = []*Agent{a}
		return
	}
	d.noteAnswer(a.ID, now)
	a.Be(Working, now)
	c.Agents = []*Agent{a}
	c.Events = append(c.Events, d.facts().stateEvent(a, map[string]any{"permission_id": p.ID}))
}

// reminded is how long after the answer to a permission a Notification about a dialog is about that dialog: the runtime sends one
// only when a dialog has been open for 6 s (measured with Claude Code 2.1.329).
const reminded = 5 * time.Second

// noteAnswer notes that the dialog of a permission is closed. For a moment the registry still says that the agent waits, and a
// Notification may be on its way.
func (d *Daemon) noteAnswer(agentID int64, now time.Time) {
	d.outdate(agentID)
	d.memories.change(agentID, func(m *agentMemory) { m.answeredAt = now })
}

// ErrUnchanged says that there is nothing to commit.
var ErrUnchanged = errors.New("nothing to change")

// changePermission commits a change of a permission. If another writer changes a row first, it reads both rows again and
// calls change again.
func (d *Daemon) changePermission(ctx context.Context, id int64, change func(p *Permission, a *Agent, c *Change) error) error {
	for {
		p, err := d.Permission(ctx, id)
		if err != nil {
			return err
		}
		a, err := d.Store.Agent(ctx, p.AgentID)
		if err != nil {
			return err
		}
		c := Change{Permissions: []*Permission{&p}}
		switch err := change(&p, &a, &c); {
		case errors.Is(err, ErrUnchanged):
			return nil
		case err != nil:
			return err
		}
		err = d.commit(ctx, &c)
		switch {
		case errors.Is(err, ErrMoved) && ctx.Err() == nil:
			continue
		case err != nil:
			return fmt.Errorf("permission %d: %w", id, err)
		case !p.Open():
			d.asking.forget(id)
		}
		d.asking.tell(id)
		return nil
	}
}

// runPermissions ends the permissions whose hooks have gone, until ctx ends.
func (d *Daemon) runPermissions(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for again := 0; ; again-- {
		// Read the rows again from time to time: the commit of a hook may have succeeded although the daemon was told otherwise.
		if again <= 0 && d.notePermissions(ctx) {
			again = int(rejoinPermission / time.Second)
		}
		left := d.asking.left()
		for _, id := range slices.Sorted(maps.Keys(left)) {
			d.seeToLeft(ctx, id, left[id])
		}
		if !lane.Ticked(ctx, tick.C) {
			return
		}
	}
}

// notePermissions remembers the open permissions of this host. It returns false if they can't be read now.
func (d *Daemon) notePermissions(ctx context.Context) bool {
	for before := int64(0); ; {
		open, err := d.Store.Permissions(ctx, PermissionFilter{Host: d.Host, Open: true, Before: before})
		if err != nil {
			return false
		}
		for i := range open {
			d.asking.note(&open[i], d.now())
			before = open[i].ID
		}
		if len(open) == 0 {
			return true
		}
	}
}

// seeToLeft ends a permission for which no hook waits, once its hook can't come back, or its dialog is closed.
func (d *Daemon) seeToLeft(ctx context.Context, id int64, since time.Time) {
	p, err := d.Store.Permission(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound), err == nil && !p.Open():
		d.asking.forget(id)
		return
	case err != nil:
		return // it is looked at again in a second
	}
	signs, _ := dialogSignsOf(d, ctx, &p, &paneDialog{})
	state, note := signs.over()
	if state == "" && d.timeSpent(since) >= rejoinPermission {
		state, note = PermissionUnanswered, noteHookGone
	}
	if state == "" || p.State == PermissionAnswered && state == PermissionPane && d.timeSpent(since) < rejoinPermission {
		return
	}
	if p.State == PermissionAnswered {
		state, note = PermissionUnanswered, noteHookGone
	}
	if err := d.endPermission(ctx, id, state, note); err != nil && ctx.Err() == nil {
		d.Log.Warn("a permission without a hook could not be ended: it is tried again", "permission_id", id, "error", err)
	}
}
