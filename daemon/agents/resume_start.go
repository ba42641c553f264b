package agents

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/words"
)

const (
	// settlesIn is how long after its start a daemon waits until it has seen the end of each agent that died before, and until
	// the handoffs of these agents have failed or gone on.
	settlesIn = time.Minute
	// provesIn is how long an agent must live whose session was opened again. If it dies sooner, the daemon does not open the
	// session by itself once more, because the session may be why the machine or the tmux server went down.
	provesIn = 10 * time.Minute
	// mostResumed is how often a day a daemon opens the sessions of one line by itself.
	mostResumed = 3
	// maxOpening is how many sessions are being opened again at once. Some dozens of CLIs that start together would load the
	// machine so much that none of them registers in time.
	maxOpening = 4
)

// ResumeDead opens the sessions again of the agents that had died with the machine or with their tmux server before this daemon
// started, if the settings say so. It leaves alone those that a person ended, those that died by themselves, and those whose
// handoff or pipeline goes on with the work. Each session is opened again once: the commit writes the dead agent's row. If the
// daemon is killed meanwhile, the next one goes on with the others.
func (d *Supervisor) ResumeDead(ctx context.Context) {
	if !d.Settings().Resume || d.resumed.Load() {
		return
	}
	tick := time.NewTicker(engine.SweepEvery)
	defer tick.Stop()
	began, before := time.Now(), map[int64]bool(nil)
	for {
		done, err := d.resumeSettled(ctx, &before, time.Since(began) > settlesIn)
		switch {
		case err != nil && ctx.Err() == nil:
			d.Log.Warn("agents that died before the start not resumed yet; trying again", "error", err)
		case done:
			d.resumed.Store(true)
			return
		}
		if !lane.Ticked(ctx, tick.C) {
			return
		}
	}
}

// resumeSettled resumes the agents that had died before the start, once the ends of all of them are known. before holds these
// agents. With late it waits no longer.
func (d *Supervisor) resumeSettled(ctx context.Context, before *map[int64]bool, late bool) (done bool, err error) {
	if *before == nil {
		if *before, err = d.diedBefore(ctx); err != nil {
			*before = nil
			return false, err
		}
	}
	if len(*before) == 0 {
		return true, nil
	}
	o, err := ReadOverview(ctx, d, daemon.MostAgents)
	if err != nil {
		return false, err
	}
	if !late && o.Unsettled(*before) {
		return false, nil
	}
	dead, _ := o.ToResume()
	for _, a := range dead {
		if !(*before)[a.ID] || !endedWithServer(a) || a.Host != d.Host || a.Hold != nil {
			continue // a hold says that it was told already why its session is not opened again
		}
		if err := d.resumeByItself(ctx, a); err != nil {
			return false, err
		}
	}
	for _, p := range d.Parts {
		if p.Resumed == nil {
			continue
		}
		if err := p.Resumed(ctx, o.Pipelines, *before); err != nil {
			return true, err
		}
	}
	return true, nil
}

// diedBefore returns the host's agents whose processes are gone, and those that ended lately.
func (d *Supervisor) diedBefore(ctx context.Context) (map[int64]bool, error) {
	out := map[int64]bool{}
	active, err := d.AllAgents(ctx, daemon.AgentFilter{Host: d.Host, Active: true})
	if err != nil {
		return nil, err
	}
	for i := range active {
		if a := &active[i]; !a.Launching() && !d.Running(ctx, a) {
			out[a.ID] = true
		}
	}
	ended, err := d.Store.Agents(ctx, daemon.AgentFilter{Lately: true, Limit: daemon.MostAgents})
	for i := range ended {
		if endedWithServer(&ended[i]) {
			out[ended[i].ID] = true
		}
	}
	return out, err
}

// resumeByItself opens a dead agent's session again and tells the operator, or tells why not. Both are told with the agent's end
// if that was not told yet.
func (d *Supervisor) resumeByItself(ctx context.Context, a *daemon.Agent) error {
	why, err := d.diesAgain(ctx, a)
	if err != nil {
		return err
	}
	if why == "" {
		_, err := d.openAgain(ctx, a, func(next *daemon.Agent) *event.Event {
			return d.aboutResume(event.AgentResumed, a, map[string]any{"successor_id": next.ID,
				"message": fmt.Sprintf("Agent %d (%s) ended with its tmux server; agent %d has opened its session again.", a.ID, a.Name, next.ID)})
		})
		told := daemon.RefusalIn(err)
		switch {
		case told == nil:
			return err
		case told.Code == daemon.CodeAgentResumed:
			return nil // a person was first
		}
		why = told.Message
	}
	return d.tellNotResumed(ctx, a.ID, why)
}

// tellNotResumed tells the operator once why the daemon does not open the session of a dead agent again by itself. The hold on the
// agent's row says that this is told.
func (d *Supervisor) tellNotResumed(ctx context.Context, id int64, why string) error {
	a, err := d.Store.Agent(ctx, id)
	if err != nil || a.SuccessorID != nil || a.Hold != nil {
		return err
	}
	a.HoldBy(daemon.Hold{Kind: daemon.HoldNotResumed, HoldDetail: daemon.HoldDetail{Says: words.TrimDot(why)}}, d.Now())
	e := d.aboutResume(event.AgentNotResumed, &a, map[string]any{"why": why,
		"message": fmt.Sprintf("Agent %d (%s) ended with its tmux server, and its session was not opened again: %s.", a.ID, a.Name, words.TrimDot(why))})
	err = d.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{&a}, Events: []*event.Event{e}})
	if errors.Is(err, daemon.ErrMoved) {
		return nil // somebody resumes it
	}
	return err
}

// aboutResume makes an alert about an agent that died. It has the same cause as the alert about the agent's end.
func (d *Supervisor) aboutResume(typ event.Type, a *daemon.Agent, payload map[string]any) *event.Event {
	payload["agent_name"] = a.Name
	e := d.Event(typ, &a.ID, nil, payload)
	e.Alert, e.Cause = true, a.EndCause
	return e
}

// diesAgain says why the daemon does not open the session of a dead agent again by itself; "": it does.
func (d *Supervisor) diesAgain(ctx context.Context, a *daemon.Agent) (string, error) {
	resume := fmt.Sprintf("`understudy agent resume %d` does it", a.ID)
	if lived := a.EndedAt.Sub(a.CreatedAt); a.Resume != "" && lived < provesIn {
		return fmt.Sprintf("it died %s after its session was opened again, so the daemon does not do that by itself once more: %s", words.Age(lived), resume), nil
	}
	times, at := 0, *a
	for at.Resume != "" && at.PreviousAgentID != nil && d.Now().Sub(at.CreatedAt) < daemon.Recently && times < mostResumed {
		times++
		prev, err := d.Store.Agent(ctx, *at.PreviousAgentID)
		if errors.Is(err, daemon.ErrNotFound) {
			break
		}
		if err != nil {
			return "", err
		}
		at = prev
	}
	if times == mostResumed {
		return fmt.Sprintf("its session was opened again %d times within a day, so the daemon does not do that by itself once more: %s", times, resume), nil
	}
	return "", nil
}

// mayOpen reports whether the pane of an agent that opens a session again may be made now, so that at most maxOpening of them
// start at once.
func (d *Supervisor) mayOpen(ctx context.Context, a *daemon.Agent) (bool, error) {
	if a.Resume == "" {
		return true, nil
	}
	active, err := d.Roster.Agents(ctx)
	if err != nil {
		return false, err
	}
	d.opening.mu.Lock()
	defer d.opening.mu.Unlock()
	begun := map[int64]time.Time{}
	for i := range active {
		b := &active[i]
		if b.ID == a.ID || b.Resume == "" || b.State != daemon.Starting {
			continue
		}
		at := d.opening.begun[b.ID]
		if b.SpawnedAt != nil {
			at = *b.SpawnedAt
		}
		if !at.IsZero() && d.TimeSpent(at) < d.Settings().Handoff.RegistrationTimeout {
			begun[b.ID] = at
		}
	}
	d.opening.begun = begun
	if len(begun) >= maxOpening {
		return false, nil
	}
	begun[a.ID] = d.Now()
	return true, nil
}

// openings are the agents that open a session again, and whose panes are made or about to be made.
type openings struct {
	mu    sync.Mutex
	begun map[int64]time.Time
}
