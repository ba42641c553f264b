package agents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/tmux"
)

// Launch makes the pane of a managed agent, or finds the pane that an earlier daemon made. It can run again after a
// crash at any point: the name of the tmux session and the mark of the pane identify the pane.
func (d *Supervisor) Launch(ctx context.Context, a *daemon.Agent) (moved bool, again time.Duration, err error) {
	term, err := d.OwnTerminal()
	if err != nil {
		return false, 0, err
	}
	place, err := d.placeOf(ctx, a)
	if err != nil {
		return false, 0, err
	}
	if a.LaunchHash != nil { // without the hash no daemon can have made a pane
		if info, ok, err := d.findPane(ctx, term, a, place); err != nil {
			return false, 0, err
		} else if ok {
			return true, 0, d.launched(ctx, a, info)
		}
		if told, err := d.ReplayFor(ctx, a); err != nil || told {
			return told, 0, err
		}
	}
	if a.RegisteredAt != nil || a.LastHook > 0 { // its session has begun, so make no second pane
		if d.Lives(a.Process()) {
			return false, time.Second, nil
		}
		return true, 0, d.Reap(ctx, a)
	}
	if a.StopAskedAt != nil {
		return true, 0, d.launchFailed(ctx, a, errors.New("somebody stopped it before it was started"))
	}
	if moved, wait, err := d.treeReady(ctx, a); moved || wait > 0 || err != nil {
		return moved, wait, err
	}
	if may, err := d.mayOpen(ctx, a); !may || err != nil {
		return false, time.Second, err
	}
	if err := d.prepareLaunch(ctx, a); err != nil {
		if engine.Retryable(err) || daemon.Unavailable(err) || ctx.Err() != nil {
			return false, 0, err
		}
		return true, 0, d.launchFailed(ctx, a, err)
	}
	spec := tmux.Spec{
		Session: a.TmuxSession, Dir: a.Cwd, Mark: engine.PaneMark(a.ID),
		Width: a.PaneColumns, Height: a.PaneRows,
		Argv: []string{d.Binary, "launch", d.launchPath(a.ID)},
	}
	if place != nil {
		if moved, again, err := d.takePlace(ctx, term, a, place, spec); moved || again > 0 || err != nil {
			return moved, again, err
		}
	}
	info, err := term.Spawn(ctx, spec)
	switch {
	case errors.Is(err, tmux.ErrExists):
		return true, 0, nil // a tmux command of an earlier daemon made the pane; the next look finds it by its mark
	case err != nil && (ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, tmux.ErrLost)):
		// tmux may still make the pane; the next look finds it by its mark. If its server ended, the next look makes the pane
		// anew, unless the agent was heard of.
		return false, 0, err
	case err != nil:
		// Look for the pane: tmux may have made it in spite of the error. If the agent were ended here, nobody would
		// supervise it.
		made, ok, lookErr := d.findPane(ctx, term, a, place)
		switch {
		case lookErr != nil && !errors.Is(err, tmux.ErrMissing): // ErrMissing: without the program tmux no pane was made
			return false, 0, errors.Join(err, lookErr)
		case !ok:
			return true, 0, d.launchFailed(ctx, a, err)
		}
		info = made
	}
	return true, 0, d.launched(ctx, a, info)
}

// GiveSkill queues the skill of an agent whose runtime takes it as a prompt only, once.
func (d *Supervisor) GiveSkill(ctx context.Context, a *daemon.Agent) (moved bool, again time.Duration, err error) {
	if d.RuntimeOf(a).Can.Skill != runtimes.SkillAsPrompt || !a.Managed || a.Persona == nil || a.SkillInjectedAt != nil || a.RegisteredAt == nil {
		return false, 0, nil
	}
	all, err := d.Store.Deliveries(ctx, a.ID, 0, 500)
	if err != nil {
		return false, 0, err
	}
	for i := range all {
		if all[i].Kind == daemon.KindSkill {
			return false, 0, nil // its verdict tells the rest
		}
	}
	dl, err := d.newSkill(ctx, a, *a.Persona, d.Data)
	if err != nil {
		return false, 0, err
	}
	e := d.Event(event.DeliveryQueued, &a.ID, nil, map[string]any{"delivery_id": dl.ID, "kind": dl.Kind})
	return true, 0, d.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}, NewDeliveries: []*daemon.Delivery{dl}, Events: []*event.Event{e}})
}

// TellOverdue tells the operator once that an agent has not registered in time. The hold on its row says that it was told.
func (d *Supervisor) TellOverdue(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	if a.RegisteredAt != nil || a.SpawnedAt == nil || a.Hold != nil && !a.Hold.Is(daemon.HoldBrokeOff) {
		return false, 0, nil
	}
	since, limit := d.StartDeadline(a)
	if left := d.TimeLeft(since, limit); left > 0 {
		return false, left, nil
	}
	overdue := daemon.Hold{Kind: daemon.HoldUnanswered, HoldDetail: daemon.HoldDetail{Limit: limit.String(), Dialog: a.WaitsFor}}
	if !a.AsksBeforeSession() {
		pane := d.Shows(ctx, a)
		overdue = daemon.Hold{Kind: daemon.HoldNotRegistered, HoldDetail: daemon.HoldDetail{Limit: limit.String(), Dialog: pane.Dialog, Composer: pane.Composer, Line: pane.Line}}
	}
	a.HoldBy(overdue, d.Now())
	e := d.Event(event.AgentFailed, &a.ID, nil, map[string]any{"code": daemon.CodeRegistrationTimeout,
		"message": fmt.Sprintf("Agent %d: %s; look at it with `understudy agent attach %d`.", a.ID, a.Hold.Words(), a.ID)})
	e.Alert = true
	return true, 0, d.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}, Events: []*event.Event{e}})
}
