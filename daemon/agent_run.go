package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/tmux"
)

// maxMoves ends a lane's turn that writes over and over; it comes back at once, after the others.
const maxMoves = 50

// runLane does what is due for an agent or, for a negative key, for a run; sweepLane looks for those with
// something to do, and spoolLane applies spooled hooks. Errors of these two come again with the next sweep.
func (d *Daemon) runLane(ctx context.Context, key int64) (again time.Duration) {
	switch key {
	case sweepLane:
		err := d.sweep(ctx)
		if err != nil && ctx.Err() == nil {
			d.Log.Warn("sweep incomplete; trying again", "error", err)
		}
		if err == nil {
			d.mu.Lock()
			d.presence.prove(d.now())
			d.mu.Unlock()
		}
		return 0
	case spoolLane:
		if err := d.replaySpool(ctx); err != nil && ctx.Err() == nil {
			d.Log.Warn("spool not replayed; trying again", "error", err)
		}
		return 0
	}
	for range maxMoves {
		moved, again, err := d.workOn(ctx, key)
		switch {
		case ctx.Err() != nil:
			return 0
		case err != nil && retryable(err):
			continue
		case errors.Is(err, ErrNotFound):
			return 0
		case err != nil:
			d.Log.Warn("work stopped; trying again", "for", subject(key), "error", err)
			d.stuck(ctx, key, err)
			return time.Second
		case !moved:
			d.unstuck(key)
			return again
		}
	}
	return time.Millisecond
}

// workOn does the first thing that is due for the agent or the run of a lane.
func (d *Daemon) workOn(ctx context.Context, key int64) (moved bool, again time.Duration, err error) {
	if key < 0 {
		return d.workPipeline(ctx, -key)
	}
	return d.work(ctx, key)
}

// subject names what a lane works for.
func subject(key int64) string {
	switch {
	case key == sweepLane:
		return "sweep"
	case key == spoolLane:
		return "spool"
	case key < 0:
		return fmt.Sprintf("pipeline %d", -key)
	}
	return fmt.Sprintf("agent %d", key)
}

// stuckAfter is how many times in a row an agent's work may fail before the operator is told. It
// is tried about once a second.
const stuckAfter = 10

// stuck counts an error of a lane, and tells the operator once when they don't end.
func (d *Daemon) stuck(ctx context.Context, key int64, cause error) {
	d.mu.Lock()
	d.errors[key]++
	n := d.errors[key]
	d.mu.Unlock()
	if n != stuckAfter {
		return
	}
	e := d.event("agent_stuck", &key, nil, map[string]any{"message": fmt.Sprintf(
		"Nothing goes on for %s: %s. It is tried again each second; see `understudy doctor`.", subject(key), trimDot(cause.Error()))})
	if key < 0 {
		id := -key
		e.Type, e.AgentID, e.PipelineID = "pipeline_stuck", nil, &id
	}
	e.Alert = true
	if err := d.commit(ctx, &Change{Events: []*Event{e}}); err != nil && ctx.Err() == nil {
		d.Log.Warn("event not stored; trying again", "type", e.Type, "error", err)
		d.mu.Lock()
		d.errors[key]-- // the next error tells it
		d.mu.Unlock()
	}
}

func (d *Daemon) unstuck(id int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.errors, id)
}

// work looks at one agent's rows and does the first thing that is due.
func (d *Daemon) work(ctx context.Context, id int64) (moved bool, again time.Duration, err error) {
	a, err := d.Store.Agent(ctx, id)
	if err != nil {
		return false, 0, err
	}
	if a.Host != d.Host {
		return false, 0, nil // another host's
	}
	if a.Active() {
		d.watch(ctx, &a)
		if moved, again, err = d.tend(ctx, &a); moved || err != nil {
			return moved, again, err
		}
	}
	h, ok, err := d.openHandoff(ctx, id)
	if err != nil {
		return false, 0, err
	}
	if !ok || h.Phase != Generating {
		d.endFork(id)
	}
	switch {
	case ok:
		moved, soon, err := d.advance(ctx, &a, &h)
		if moved || err != nil {
			return moved, 0, err
		}
		again = earlier(again, soon)
	case a.Active() && !(a.StepID != nil && a.turnOver()): // a step that is over has nothing to hand over
		moved, soon, err := d.handOverFull(ctx, &a)
		if moved || err != nil {
			return moved, 0, err
		}
		again = earlier(again, soon)
	}
	open, err := d.Store.OpenDeliveries(ctx, id)
	if err != nil || len(open) == 0 {
		return false, again, err
	}
	dl, err := d.nextDelivery(ctx, &a, open)
	if err != nil || dl == nil {
		return false, earlier(again, time.Second), err
	}
	moved, soon, err := d.deliver(ctx, &a, dl)
	return moved, earlier(again, soon), err
}

// nextDelivery picks what is typed next: the oldest, but for a successor that is still being
// handed the work, to which nobody speaks before it has its injection prompt.
func (d *Daemon) nextDelivery(ctx context.Context, a *Agent, open []Delivery) (*Delivery, error) {
	if a.PreviousAgentID == nil || !a.Active() {
		return &open[0], nil
	}
	list, err := d.Store.Handoffs(ctx, HandoffFilter{SuccessorID: a.ID, Open: true, Limit: 1})
	if err != nil || len(list) == 0 {
		return &open[0], err
	}
	for i := range open {
		if open[i].Kind == KindPrompt || open[i].Kind == KindExit {
			return &open[i], nil
		}
	}
	return nil, nil
}

// tend looks after the agent itself: its pane, its process, its state, its end.
func (d *Daemon) tend(ctx context.Context, a *Agent) (moved bool, again time.Duration, err error) {
	switch {
	case a.Managed && a.SpawnedAt == nil:
		return d.launch(ctx, a)
	case !d.running(ctx, a):
		return true, 0, d.reap(ctx, a)
	}
	if d.reconcile(a) {
		e := d.stateEvent(a, map[string]any{"registry": a.State})
		return true, 0, d.commit(ctx, &Change{Agents: []*Agent{a}, Events: []*Event{e}})
	}
	if d.opening(a) {
		e := d.stateEvent(a, map[string]any{"screen": a.State})
		return true, 0, d.commit(ctx, &Change{Agents: []*Agent{a}, Events: []*Event{e}})
	}
	if a.StopAskedAt != nil {
		return d.stopLadder(ctx, a)
	}
	moved, again, err = d.measure(ctx, a)
	if moved || err != nil {
		return moved, 0, err
	}
	late, soon, err := d.overdue(ctx, a)
	return late, earlier(again, soon), err
}

// running reports whether the agent's process lives: by its process where we know it, else by
// its pane.
func (d *Daemon) running(ctx context.Context, a *Agent) bool {
	if a.PID != 0 {
		return d.lives(a.Process())
	}
	term, err := d.terminalOf(a)
	if err != nil {
		return true
	}
	info, err := term.Inspect(ctx, a.Ref())
	return !errors.Is(err, tmux.ErrGone) && (err != nil || !info.Dead)
}

// reap commits the end of an agent whose process is gone.
func (d *Daemon) reap(ctx context.Context, a *Agent) error {
	now := d.now()
	e, err := d.endOf(ctx, a)
	if err != nil {
		return fmt.Errorf("agent %d: end: %w", a.ID, err)
	}
	c := &Change{Agents: []*Agent{a}}
	if over := d.endTrouble(a, "end"); over != nil {
		c.Events = append(c.Events, over)
	}
	c.Events = append(c.Events, e)
	a.be(Ended, now)
	a.EndedAt, a.Note = &now, ""
	if err := d.commit(ctx, c); err != nil {
		return fmt.Errorf("agent %d: end: %w", a.ID, err)
	}
	d.Log.Info("agent ended", "agent_id", a.ID, "reason", withoutScreen(*a.EndReason))
	d.cleanUp(ctx, a)
	d.wakeKin(a)
	return nil
}

// endOf finds out why an agent has ended, and makes the event. It is an alert unless the end was asked for, or a
// person has ended what they had started.
func (d *Daemon) endOf(ctx context.Context, a *Agent) (*Event, error) {
	asked := a.EndHint != "" && a.EndHint != "other" || a.StopAskedAt != nil
	reason := firstNonEmpty(a.EndHint, "process_gone")
	payload := map[string]any{"asked": a.StopAskedAt != nil}
	told := !asked && a.Managed
	if !asked && d.serverGone(ctx, a) {
		reason, a.EndCause = "tmux_server_gone", serverCause(a.Ref())
		if !a.Managed {
			var err error
			if told, err = d.endedTogether(ctx, a); err != nil {
				return nil, err
			}
		}
	}
	e := d.event(eventEnded, &a.ID, nil, nil)
	if told {
		cause, hint := reason, fmt.Sprintf("open its session again with `understudy agent resume %d`", a.ID)
		if a.EndCause == "" {
			cause += d.lastWords(ctx, a)
		}
		if a.RegisteredAt == nil {
			reason, hint = cause, "it never had a session: put that right and start it anew with `understudy agent start`" // its last words are all that is known of it
		}
		tied, err := d.tied(ctx, a)
		if err != nil {
			return nil, err
		}
		payload["agent_name"], payload["tied"], payload["tmux_socket"], payload["own_server"] = a.Name, tied, a.PaneSocket, a.Managed
		payload["message"] = fmt.Sprintf("Agent %d (%s) ended without being asked (%s); %s.", a.ID, a.Name, cause, hint)
		e.Alert, e.Cause = true, a.EndCause
	}
	a.EndReason, payload["reason"] = &reason, reason
	e.Payload = mustJSON(payload)
	return e, nil
}

// cleanUp removes what an ended agent leaves: its dead pane on our server, and its launch files,
// which hold the secret.
func (d *Daemon) cleanUp(ctx context.Context, a *Agent) {
	d.forget(a.ID)
	if !a.Managed {
		return
	}
	// People may be attached to it: when its successor has a pane they are passed on to that.
	if h, ok, err := d.openHandoff(ctx, a.ID); err == nil && ok && h.Phase == ShuttingDown {
		return
	}
	if err := d.removePane(ctx, a); err != nil {
		d.Log.Warn("dead pane not removed", "agent_id", a.ID, "error", err)
	}
	if err := os.RemoveAll(d.Data.Launch(a.ID)); err != nil {
		d.Log.Warn("launch files not removed", "agent_id", a.ID, "error", err)
	}
}

// removePane removes a pane whose process has ended. It looks again before it does: a mistake about
// the end of a process must not end it.
func (d *Daemon) removePane(ctx context.Context, a *Agent) error {
	term, err := d.terminalOf(a)
	if err != nil {
		return nil // it never had one
	}
	info, err := term.Inspect(ctx, a.Ref())
	if errors.Is(err, tmux.ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := d.Processes.Find(info.PID); !info.Dead && !errors.Is(err, tmux.ErrNoProcess) {
		return fmt.Errorf("process %d of pane %s still runs", info.PID, info.Pane)
	}
	return term.Kill(ctx, a.Ref())
}

// inherited reads the flags that a running agent was started with and that its successor gets;
// nil if they are known already or can't be read.
func (d *Daemon) inherited(a *Agent) []string {
	if a.Managed || a.PID == 0 || len(a.Options) > 0 {
		return nil
	}
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(a.PID), "cmdline"))
	if err != nil || !d.lives(a.Process()) {
		return nil
	}
	argv := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	return runtimes.InheritOptions(argv)
}

// openHandoff returns the open handoff of an outgoing agent.
func (d *Daemon) openHandoff(ctx context.Context, agentID int64) (Handoff, bool, error) {
	list, err := d.Store.Handoffs(ctx, HandoffFilter{AgentID: agentID, Open: true, Limit: 1})
	if err != nil || len(list) == 0 {
		return Handoff{}, false, err
	}
	return list[0], true, nil
}

// earlier returns the shorter wait; 0 is none.
func earlier(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
