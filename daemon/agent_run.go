package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/tmux"
)

// maxMoves ends a lane's turn that writes over and over; it comes back at once, after the others.
const maxMoves = 50

// runLane does what is due for an agent; key sweepLane looks for agents with something to do.
func (d *Daemon) runLane(ctx context.Context, key int64) (again time.Duration) {
	if key == sweepLane {
		if err := d.sweep(ctx); err != nil && ctx.Err() == nil {
			d.Log.Warn("sweep incomplete; trying again", "error", err)
		}
		return 0
	}
	for range maxMoves {
		moved, again, err := d.work(ctx, key)
		switch {
		case ctx.Err() != nil:
			return 0
		case err != nil && retryable(err):
			continue
		case errors.Is(err, ErrNotFound):
			return 0
		case err != nil:
			d.Log.Warn("agent's work stopped; trying again", "agent_id", key, "error", err)
			return time.Second
		case !moved:
			return again
		}
	}
	return time.Millisecond
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
	if ok {
		moved, soon, err := d.advance(ctx, &a, &h)
		if moved || err != nil {
			return moved, 0, err
		}
		again = earlier(again, soon)
	}
	open, err := d.Store.OpenDeliveries(ctx, id)
	if err != nil || len(open) == 0 {
		return false, again, err
	}
	moved, soon, err := d.deliver(ctx, &a, &open[0])
	return moved, earlier(again, soon), err
}

// tend looks after the agent itself: its pane, its process, its state, its end.
func (d *Daemon) tend(ctx context.Context, a *Agent) (moved bool, again time.Duration, err error) {
	switch {
	case a.Managed && a.SpawnedAt == nil:
		return d.launch(ctx, a)
	case !d.running(ctx, a):
		return true, 0, d.reap(ctx, a)
	}
	if d.reconcile(a, time.Now()) {
		e := d.event("agent_"+string(a.State), &a.ID, nil, map[string]any{"registry": a.State})
		return true, 0, d.commit(ctx, &Change{Agents: []*Agent{a}, Events: []*Event{e}})
	}
	if a.StopAskedAt != nil {
		return d.stopLadder(ctx, a)
	}
	return d.overdue(ctx, a)
}

// running reports whether the agent's process lives: by its process where we know it, else by
// its pane.
func (d *Daemon) running(ctx context.Context, a *Agent) bool {
	if a.PID != 0 {
		return a.Process().Alive()
	}
	term, err := d.terminalOf(a)
	if err != nil {
		return true
	}
	info, err := term.Inspect(ctx, a.Ref())
	return !errors.Is(err, tmux.ErrGone) && (err != nil || !info.Dead)
}

// overdue says once that an agent which nobody hands over has not registered.
func (d *Daemon) overdue(ctx context.Context, a *Agent) (bool, time.Duration, error) {
	if a.RegisteredAt != nil || a.SpawnedAt == nil || a.Note != "" {
		return false, 0, nil
	}
	if left := time.Until(a.SpawnedAt.Add(d.Settings.Handoff.RegistrationTimeout)); left > 0 {
		return false, left, nil
	}
	a.Note = fmt.Sprintf("it did not register within %s%s", d.Settings.Handoff.RegistrationTimeout, d.shows(ctx, a))
	e := d.event("agent_failed", &a.ID, nil, map[string]any{"code": "registration_timeout",
		"message": fmt.Sprintf("Agent %d: %s; look at it with `understudy agent attach %d`.", a.ID, a.Note, a.ID)})
	e.Alert = true
	return true, 0, d.commit(ctx, &Change{Agents: []*Agent{a}, Events: []*Event{e}})
}

// reap commits the end of an agent whose process is gone.
func (d *Daemon) reap(ctx context.Context, a *Agent) error {
	now := time.Now().UTC()
	reason, expected := a.EndHint, a.EndHint != "" && a.EndHint != "other" || a.StopAskedAt != nil || !a.Managed
	if reason == "" {
		reason = "process_gone"
	}
	cause, hint := reason, fmt.Sprintf("open its session again with `understudy agent resume %d`", a.ID)
	if !expected {
		cause += d.lastWords(ctx, a)
	}
	if !expected && a.RegisteredAt == nil {
		reason, hint = cause, "it never had a session: put that right and start it anew" // its last words are all that is known of it
	}
	a.State, a.EndedAt, a.EndReason, a.Note = Ended, &now, &reason, ""
	e := d.event("agent_ended", &a.ID, nil, map[string]any{"reason": reason, "asked": a.StopAskedAt != nil})
	if !expected {
		e.Alert = true
		e.Payload = mustJSON(map[string]any{"reason": reason, "asked": false,
			"message": fmt.Sprintf("Agent %d (%s) ended without being asked (%s); %s.", a.ID, a.Name, cause, hint)})
	}
	if err := d.commit(ctx, &Change{Agents: []*Agent{a}, Events: []*Event{e}}); err != nil {
		return fmt.Errorf("agent %d: end: %w", a.ID, err)
	}
	d.Log.Info("agent ended", "agent_id", a.ID, "reason", reason)
	d.cleanUp(ctx, a)
	d.wakeKin(a)
	return nil
}

// cleanUp removes what an ended agent leaves: its dead pane on our server, and its launch files,
// which hold the secret.
func (d *Daemon) cleanUp(ctx context.Context, a *Agent) {
	d.forget(a.ID)
	if !a.Managed {
		return
	}
	if term, err := d.terminalOf(a); err == nil {
		if err := term.Kill(ctx, a.Ref()); err != nil {
			d.Log.Warn("dead pane not removed", "agent_id", a.ID, "error", err)
		}
	}
	if err := os.RemoveAll(d.Data.Launch(a.ID)); err != nil {
		d.Log.Warn("launch files not removed", "agent_id", a.ID, "error", err)
	}
}

const (
	dialogAfter = 2 * time.Second // /exit typed -> look for the runtime's question
	killAfter   = 5 * time.Second // SIGTERM sent -> kill
	giveUpAfter = 5 * time.Second // killed -> a person must look
)

// stopLadder takes an agent that was asked to stop one rung further when it is time. Each rung is
// committed before its effect; the process itself, by pid and start time, is what is ended.
func (d *Daemon) stopLadder(ctx context.Context, a *Agent) (bool, time.Duration, error) {
	var on time.Duration // how long on this rung
	if a.StopStageAt != nil {
		on = time.Since(*a.StopStageAt)
	}
	exit := d.Settings.Handoff.ExitTimeout
	switch a.StopStage {
	case StopNone:
		if a.StopForce || !a.HasPane() {
			return d.climb(ctx, a, StopTerm)
		}
		return d.askToExit(ctx, a)
	case StopAsked:
		switch {
		case on >= exit:
			return d.climb(ctx, a, StopTerm)
		case on >= dialogAfter:
			if s, err := d.readScreen(ctx, a); err == nil && s.Dialog == runtimes.DialogExitTasks {
				return d.climb(ctx, a, StopAnswer)
			}
		}
		if on >= enterAfter {
			d.nudgeExit(ctx, a)
		}
		return false, time.Second, nil
	case StopAnswer:
		if on >= exit {
			return d.climb(ctx, a, StopTerm)
		}
		return false, exit - on, d.actOnce(ctx, a)
	case StopTerm:
		if on >= killAfter {
			return d.climb(ctx, a, StopKill)
		}
		return false, killAfter - on, d.actOnce(ctx, a)
	case StopKill:
		if on >= giveUpAfter {
			return d.climb(ctx, a, StopFailed)
		}
		return false, giveUpAfter - on, d.actOnce(ctx, a)
	}
	return false, 0, nil
}

// climb commits the next rung.
func (d *Daemon) climb(ctx context.Context, a *Agent, to StopStage) (bool, time.Duration, error) {
	now := time.Now().UTC()
	a.StopStage, a.StopStageAt = to, &now
	c := Change{Agents: []*Agent{a}}
	e := d.event("agent_stopping", &a.ID, nil, map[string]any{"stage": to})
	if to == StopFailed {
		e = d.event("agent_stop_failed", &a.ID, nil, map[string]any{"message": fmt.Sprintf(
			"Agent %d (process %d) could not be ended; end it yourself.", a.ID, a.PID)})
		e.Alert = true
	}
	c.Events = []*Event{e}
	if err := d.commit(ctx, &c); err != nil {
		return false, 0, fmt.Errorf("agent %d: stop: %w", a.ID, err)
	}
	d.wakeKin(a)
	return true, 0, nil
}

// askToExit types the runtime's exit command, as a delivery; where nothing may be typed (a dialog
// is open, no composer) the next rung is taken instead.
func (d *Daemon) askToExit(ctx context.Context, a *Agent) (bool, time.Duration, error) {
	screen, err := d.readScreen(ctx, a)
	if _, cannot := screen.CanType(); err != nil || cannot != nil {
		return d.climb(ctx, a, StopTerm)
	}
	id, err := d.Store.NextID(ctx, DeliveryIDs)
	if err != nil {
		return false, 0, err
	}
	now := time.Now().UTC()
	dl := &Delivery{ID: id, AgentID: a.ID, Kind: KindExit, Text: runtimes.ExitText, State: DeliveryTyping, Attempts: 1, CreatedAt: now, TypedAt: &now}
	a.StopStage, a.StopStageAt = StopAsked, &now
	e := d.event("agent_stopping", &a.ID, nil, map[string]any{"stage": StopAsked})
	c := Change{Agents: []*Agent{a}, NewDeliveries: []*Delivery{dl}, DropQueued: a.ID, DropEvidence: "the agent was asked to stop", Events: []*Event{e}}
	if err := d.commit(ctx, &c); err != nil {
		return false, 0, fmt.Errorf("agent %d: exit: %w", a.ID, err)
	}
	return d.typeText(ctx, a, dl, &screen)
}

// nudgeExit helps an exit command that was not typed by a daemon that died, or whose Enter was
// taken for part of the text. tmux refuses to type it twice; Enter needs it in the composer.
func (d *Daemon) nudgeExit(ctx context.Context, a *Agent) {
	open, err := d.Store.OpenDeliveries(ctx, a.ID)
	if err != nil {
		return
	}
	for i := range open {
		dl := &open[i]
		switch {
		case dl.Kind != KindExit:
		case dl.State == DeliveryTyping:
			_, _, err = d.typeText(ctx, a, dl, nil)
		case dl.Attempts < maxEnters:
			if s, screenErr := d.readScreen(ctx, a); screenErr == nil && s.Composer && strings.TrimSpace(s.Draft) == dl.Text {
				_, _, err = d.pressEnter(ctx, a, dl)
			}
		}
	}
	if err != nil && !retryable(err) {
		d.Log.Warn("exit command not helped", "agent_id", a.ID, "error", err)
	}
}

// actOnce has the effect of the rung the agent is on, once per daemon: a signal that is sent again
// after a crash does no harm.
func (d *Daemon) actOnce(ctx context.Context, a *Agent) error {
	d.mu.Lock()
	done := d.acted[a.ID] == a.StopStage
	d.acted[a.ID] = a.StopStage
	d.mu.Unlock()
	if done {
		return nil
	}
	var err error
	switch a.StopStage {
	case StopAnswer:
		var term Terminal
		if term, err = d.terminalOf(a); err == nil {
			err = term.Keys(ctx, a.Ref(), tmux.Enter)
		}
	case StopTerm:
		err = d.signal(a, syscall.SIGTERM)
	case StopKill:
		err = d.kill(ctx, a)
	}
	if err != nil {
		d.Log.Warn("stop ladder: rung without effect", "agent_id", a.ID, "stage", string(a.StopStage), "error", err)
	}
	return nil
}

func (d *Daemon) signal(a *Agent, sig syscall.Signal) error {
	if a.PID == 0 {
		return errors.New("its process is unknown")
	}
	return a.Process().Signal(sig)
}

// kill ends an agent for good: with its pane on our own server; in a person's pane only the
// process, because the person's shell is around it.
func (d *Daemon) kill(ctx context.Context, a *Agent) error {
	if !a.Managed || !a.HasPane() {
		return d.signal(a, syscall.SIGKILL)
	}
	term, err := d.terminalOf(a)
	if err != nil {
		return err
	}
	err = term.Kill(ctx, a.Ref())
	if a.PID != 0 && a.Process().Alive() {
		err = errors.Join(err, d.signal(a, syscall.SIGKILL))
	}
	return err
}

// inherited reads the flags that a running agent was started with and that its successor gets;
// nil if they are known already or can't be read.
func (d *Daemon) inherited(a *Agent) []string {
	if a.Managed || a.PID == 0 || len(a.Options) > 0 {
		return nil
	}
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(a.PID), "cmdline"))
	if err != nil || !a.Process().Alive() {
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
