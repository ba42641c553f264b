package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/tmux"
)

const (
	breakSoon   = 50 * time.Millisecond // Esc pressed -> look whether the turn has ended, and again
	breakAfter  = 3 * time.Second       // Esc pressed -> SIGTERM
	readyAfter  = 2 * time.Second       // an idle agent was asked to stop -> its composer is not waited for any more
	dialogAfter = 2 * time.Second       // /exit typed -> look for the runtime's question
	killAfter   = 5 * time.Second       // SIGTERM sent -> kill
	giveUpAfter = 5 * time.Second       // killed -> a person must look
)

// stopLadder takes an agent that was asked to stop one rung further when it is time. Each rung is
// committed before its effect; the process itself, by pid and start time, is what is ended.
func (d *Daemon) stopLadder(ctx context.Context, a *Agent) (bool, time.Duration, error) {
	var on time.Duration // how long on this rung
	if a.StopStageAt != nil {
		on = d.timeOnRung(*a.StopStageAt)
	}
	exit := d.Settings.Handoff.ExitTimeout
	if yielded, err := d.yieldToWork(ctx, a); yielded || err != nil {
		return yielded, 0, err
	}
	switch a.StopStage {
	case StopNone:
		switch {
		case a.StopForce || !a.HasPane():
			return d.climbTo(ctx, a, StopTerm)
		case a.StopInterrupt && a.State != Idle:
			return d.climbTo(ctx, a, StopBreak)
		case a.State == Idle && d.timeOnRung(*a.StopAskedAt) < readyAfter:
			// Its Stop hook may not have returned yet: what is typed then is queued behind it.
			if screen, why, again := d.composer(ctx, a); screen == nil && why != noteDialog {
				return false, again, nil
			}
		}
		return d.askToExit(ctx, a)
	case StopBreak:
		switch {
		case on >= breakAfter:
			return d.climbTo(ctx, a, StopTerm)
		case on >= breakSoon && d.turnInterrupted(ctx, a):
			return d.askToExit(ctx, a)
		}
		return false, breakSoon, d.actOnRung(ctx, a)
	case StopAsked:
		switch {
		case on >= exit && a.StopYields && a.State == Working:
			// No hook has told of a turn yet, and one runs: somebody has typed behind the exit command, and made a prompt of it.
			return true, 0, d.withdrawExit(ctx, a)
		case on >= exit:
			return d.climbTo(ctx, a, StopTerm)
		case on >= dialogAfter:
			if s, err := d.readScreen(ctx, a); err == nil && s.Dialog == runtimes.DialogExitTasks {
				return d.climbTo(ctx, a, StopAnswer)
			}
		}
		if on >= enterAfter {
			d.nudgeExit(ctx, a)
		}
		return false, time.Second, nil
	case StopAnswer:
		if on >= exit {
			return d.climbTo(ctx, a, StopTerm)
		}
		return false, exit - on, d.actOnRung(ctx, a)
	case StopTerm:
		if on >= killAfter {
			return d.climbTo(ctx, a, StopKill)
		}
		return false, killAfter - on, d.actOnRung(ctx, a)
	case StopKill:
		if on >= giveUpAfter {
			return d.climbTo(ctx, a, StopFailed)
		}
		return false, giveUpAfter - on, d.actOnRung(ctx, a)
	}
	return false, 0, nil
}

// climbTo commits the next rung.
func (d *Daemon) climbTo(ctx context.Context, a *Agent, to StopStage) (bool, time.Duration, error) {
	now := d.now()
	a.StopStage, a.StopStageAt = to, &now
	c := Change{Agents: []*Agent{a}}
	e := d.event(event.AgentStopping, &a.ID, nil, map[string]any{"stage": to})
	if to == StopFailed {
		e = d.event(event.AgentStopFailed, &a.ID, nil, map[string]any{"message": fmt.Sprintf(
			"Agent %d (process %d) could not be ended; end it yourself: see `ps -fp %[2]d`.", a.ID, a.PID)})
		e.Alert = true
	}
	c.Events = []*event.Event{e}
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
	if err != nil && d.timeOnRung(*a.StopAskedAt) < killAfter {
		return false, 0, err // tmux may answer the next time
	}
	switch _, cannot := screen.CanType(); {
	case err == nil && cannot == nil && d.inFront(a):
	case a.StopYields:
		return true, 0, d.withdrawExit(ctx, a)
	default:
		return d.climbTo(ctx, a, StopTerm)
	}
	id, err := d.Store.NextID(ctx, DeliveryIDs)
	if err != nil {
		return false, 0, err
	}
	now := d.now()
	dl := &Delivery{ID: id, AgentID: a.ID, Kind: KindExit, Text: runtimes.ExitText, State: DeliveryTyping, Attempts: 1, CreatedAt: now, TypedAt: &now}
	a.StopStage, a.StopStageAt = StopAsked, &now
	e := d.event(event.AgentStopping, &a.ID, nil, map[string]any{"stage": StopAsked})
	c := Change{Agents: []*Agent{a}, NewDeliveries: []*Delivery{dl}, DropQueued: a.ID, DropEvidence: "the agent was asked to stop", Events: []*event.Event{e}}
	if err := d.commit(ctx, &c); err != nil {
		return false, 0, fmt.Errorf("agent %d: exit: %w", a.ID, err)
	}
	if a.StopYields { // the commit took its time: look at the hooks that came meanwhile
		now, err := d.Store.Agent(ctx, a.ID)
		if err != nil {
			return false, 0, err
		}
		if yielded, err := d.yieldToWork(ctx, &now); yielded || err != nil {
			return yielded, 0, err
		}
	}
	if time.Since(screen.at) > lookFresh {
		if screen, err = d.readScreen(ctx, a); err != nil || !d.inFront(a) {
			return false, enterAfter, nil // nudgeExit looks again, and types it then
		}
	}
	return d.typeText(ctx, a, dl, screen)
}

// exitTypedLate counts an agent's time to exit from now on, if much of it went by until the command was typed.
func (d *Daemon) exitTypedLate(a *Agent, dl *Delivery) bool {
	late := dl.Kind == KindExit && dl.State == DeliveryTyped && a.StopStage == StopAsked && d.timeOnRung(*a.StopStageAt) > d.Settings.Handoff.ExitTimeout/2
	if late {
		now := d.now()
		a.StopStageAt = &now
	}
	return late
}

// nudgeExit helps an exit command that was not typed by a daemon that died, or whose Enter was
// taken for part of the text. tmux refuses to type it twice; Enter needs it in the composer.
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

// actOnRung has the effect of the rung the agent is on, once per daemon: a signal that is sent again
// after a crash does no harm.
func (d *Daemon) actOnRung(ctx context.Context, a *Agent) error {
	done := false
	d.memories.change(a.ID, func(m *agentMemory) { done, m.actedRung = m.actedRung == a.StopStage, a.StopStage })
	if done {
		return nil
	}
	var err error
	switch a.StopStage {
	case StopBreak:
		err = d.pressEscape(ctx, a)
	case StopAnswer:
		err = d.answerExit(ctx, a)
	case StopTerm:
		err = d.signalAgent(ctx, a, syscall.SIGTERM)
	case StopKill:
		err = d.killAgent(ctx, a)
	}
	if err != nil {
		d.Log.Warn("stop ladder: rung without effect", "agent_id", a.ID, "stage", string(a.StopStage), "error", err)
	}
	return nil
}

// pressEscape interrupts the running turn, or dismisses the dialog that it waits in. It looks whether
// there still is one: an earlier daemon may have done it, and a second Escape would open another dialog.
func (d *Daemon) pressEscape(ctx context.Context, a *Agent) error {
	if s := d.look(a); s.status == runtimes.StatusIdle {
		return nil
	}
	term, err := d.terminalOf(a)
	if err != nil || !d.inFront(a) {
		return err
	}
	return term.Press(ctx, a.Ref(), tmux.Sight{}, tmux.Escape)
}

// turnInterrupted reports whether no turn runs any more, as far as the registry and the screen tell.
func (d *Daemon) turnInterrupted(ctx context.Context, a *Agent) bool {
	if d.look(a).busy() {
		return false
	}
	screen, err := d.readScreen(ctx, a)
	return err == nil && screen.Composer && !screen.Busy
}

// answerExit answers the runtime's question whether to exit, if it is still on the screen.
func (d *Daemon) answerExit(ctx context.Context, a *Agent) error {
	s, err := d.readScreen(ctx, a)
	if err != nil || s.Dialog != runtimes.DialogExitTasks || !d.inFront(a) {
		return err
	}
	term, err := d.terminalOf(a)
	if err != nil {
		return err
	}
	return term.Press(ctx, a.Ref(), s.sight(), tmux.Enter)
}

func (d *Daemon) signalAgent(ctx context.Context, a *Agent, sig syscall.Signal) error {
	if a.PID == 0 {
		return errors.New("its process is unknown")
	}
	if !a.Managed {
		if why := d.protected(ctx, a.Process()); why != "" {
			return errors.New(why)
		}
	}
	return d.Processes.Signal(a.Process(), sig)
}

// killAgent ends an agent for good: with its pane on our own server; in a person's pane only the
// process, because the person's shell is around it.
func (d *Daemon) killAgent(ctx context.Context, a *Agent) error {
	if !a.Managed || !a.HasPane() {
		return d.signalAgent(ctx, a, syscall.SIGKILL)
	}
	term, err := d.terminalOf(a)
	if err != nil {
		return err
	}
	err = term.Kill(ctx, a.Ref())
	if a.PID != 0 && d.lives(a.Process()) {
		err = errors.Join(err, d.signalAgent(ctx, a, syscall.SIGKILL))
	}
	return err
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
	e, err := d.endEvent(ctx, a)
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
	d.Log.Info("agent ended", "agent_id", a.ID, "reason", words.Log(*a.EndReason))
	d.cleanUp(ctx, a)
	d.wakeKin(a)
	return nil
}

// endEvent finds out why an agent has ended, and makes the event. It is an alert unless the end was asked for, or a
// person has ended what they had started.
func (d *Daemon) endEvent(ctx context.Context, a *Agent) (*event.Event, error) {
	asked := a.EndHint != "" && a.EndHint != "other" || a.StopAskedAt != nil
	reason := cmp.Or(a.EndHint, "process_gone")
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
	e := d.event(event.AgentEnded, &a.ID, nil, nil)
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
	e.Payload = event.Payload(payload)
	return e, nil
}

// cleanUp removes what an ended agent leaves: its dead pane on our server, and its launch files,
// which hold the secret.
func (d *Daemon) cleanUp(ctx context.Context, a *Agent) {
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
