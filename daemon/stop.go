package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/tmux"
)

// The times of the stop ladder.
const (
	breakSoon   = 50 * time.Millisecond // Esc pressed -> look whether the turn has ended; and between two looks
	breakAfter  = 3 * time.Second       // Esc pressed -> SIGTERM
	readyAfter  = 2 * time.Second       // an idle agent was asked to stop -> no longer wait for its composer
	dialogAfter = 2 * time.Second       // /exit typed -> look for the runtime's question
	killAfter   = 5 * time.Second       // SIGTERM sent -> kill
	giveUpAfter = 5 * time.Second       // killed -> tell the operator
)

// stopLadder takes an agent that was asked to stop one rung further when that is due. It commits each rung before it
// acts on it. A signal goes to the process by pid and start time, never to a pid alone.
//
// For instance, an idle agent with exit_timeout 20 s:
//   - 0 s, StopAsked: /exit is typed. If it still stands in the composer after 1 s, Enter is pressed again.
//   - 2 s, StopAnswer: the runtime asks whether to end background tasks, or whether to keep the work tree that it has made,
//     and is answered with Enter: it ends the tasks, and keeps the tree.
//   - 20 s on either rung, StopTerm: SIGTERM. 5 s later, StopKill: kill. 5 s later, StopFailed: the operator is told.
//
// A busy agent is first interrupted with Esc (StopBreak) if that was asked for. A forced stop begins at StopTerm.
func (d *Daemon) stopLadder(ctx context.Context, a *Agent) (bool, time.Duration, error) {
	var onRung time.Duration
	if a.StopStageAt != nil {
		onRung = d.timeOnRung(*a.StopStageAt)
	}
	exit := d.Settings().Handoff.ExitTimeout
	if yielded, err := d.yieldToWork(ctx, a); yielded || err != nil {
		return yielded, 0, err
	}
	switch a.StopStage {
	case StopNone:
		switch {
		case a.StopForce || !a.HasPane() || d.sighted(a.ID).behind: // the exit command would end the view of the session alone
			return d.climbTo(ctx, a, StopTerm)
		case a.StopInterrupt && !a.AtRest():
			return d.climbTo(ctx, a, StopBreak)
		case a.AtRest() && d.runtimeOf(a).RemovesTree(worktree.Lock(a.Cwd), a.PID): // a successor may be about to work in it
			return d.climbTo(ctx, a, StopTerm)
		case a.AtRest() && d.runtimeOf(a).Can.Exit != runtimes.ByServer && d.timeOnRung(*a.StopAskedAt) < d.readyWithin(a):
			// Wait for the composer: the agent's Stop hook may not have returned yet, and the runtime would queue the
			// exit command behind that hook.
			if screen, why, again := d.composer(ctx, a); screen == nil && why != noteDialog {
				return false, again, nil
			}
		}
		return d.askToExit(ctx, a)
	case StopBreak:
		switch {
		case onRung >= breakAfter:
			return d.climbTo(ctx, a, StopTerm)
		case onRung >= breakSoon && d.turnInterrupted(ctx, a):
			return d.askToExit(ctx, a)
		}
		return false, breakSoon, d.actOnRung(ctx, a)
	case StopAsked:
		if d.runtimeOf(a).Can.Exit != runtimes.ByTyping {
			if onRung >= exit {
				return d.climbTo(ctx, a, StopTerm)
			}
			err := d.actOnRung(ctx, a)
			if errors.Is(err, ErrGivenWork) {
				return d.exitRefused(ctx, a)
			}
			return false, exit - onRung, err
		}
		switch {
		case onRung >= exit && a.StopYields && a.State == Working:
			// Withdraw the exit: a turn runs that no hook reported, because a person typed behind the exit command and
			// submitted both as a prompt.
			return true, 0, d.withdrawExit(ctx, a)
		case onRung >= exit:
			return d.climbTo(ctx, a, StopTerm)
		case onRung >= dialogAfter:
			if s, err := d.readScreen(ctx, a); err == nil && asksAtExit(s) {
				return d.climbTo(ctx, a, StopAnswer)
			}
		}
		if onRung >= enterAfter {
			d.nudgeExit(ctx, a)
		}
		return false, time.Second, nil
	case StopAnswer:
		if onRung >= exit {
			return d.climbTo(ctx, a, StopTerm)
		}
		if err := d.actOnRung(ctx, a); err != nil || onRung < dialogAfter {
			return false, min(dialogAfter, exit) - onRung, err
		}
		// One dialog may follow the other.
		if s, err := d.readScreen(ctx, a); err == nil && s.Dialog == runtimes.DialogExitTree {
			_ = d.answerExit(ctx, a)
		}
		return false, time.Second, nil
	case StopTerm:
		if onRung >= killAfter {
			return d.climbTo(ctx, a, StopKill)
		}
		return false, killAfter - onRung, d.actOnRung(ctx, a)
	case StopKill:
		if onRung >= giveUpAfter {
			return d.climbTo(ctx, a, StopFailed)
		}
		return false, giveUpAfter - onRung, d.actOnRung(ctx, a)
	}
	return false, 0, nil
}

// readyWithin is how long an idle agent that is asked to exit may take until its composer is ready. A runtime that drops an Enter
// while its screen shows a turn or a hook gets more time.
func (d *Daemon) readyWithin(a *Agent) time.Duration {
	if d.runtimeOf(a).Can.EnterAfter > 0 {
		return max(readyAfter, d.Settings().Handoff.ExitTimeout/2)
	}
	return readyAfter
}

// stopDrops is the evidence of a queued text whose agent was asked to stop.
const stopDrops = "the agent was asked to stop"

// climbTo commits the next rung.
func (d *Daemon) climbTo(ctx context.Context, a *Agent, to StopStage) (bool, time.Duration, error) {
	now := d.now()
	a.StopStage, a.StopStageAt = to, &now
	c := Change{Agents: []*Agent{a}}
	if to == StopAsked {
		if err := d.dropQueued(ctx, &c, a.ID, stopDrops); err != nil {
			return false, 0, err
		}
	}
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

// askToExit asks the runtime to exit. If the runtime takes that from its server or its inbox, the rung does it. Otherwise
// askToExit types the exit command, as a delivery. Nothing can be typed while a dialog is open or there is no
// composer. In that case askToExit withdraws the request if the agent's handoff made it; otherwise it climbs to StopTerm.
func (d *Daemon) askToExit(ctx context.Context, a *Agent) (bool, time.Duration, error) {
	switch d.runtimeOf(a).Can.Exit {
	case runtimes.ByTyping:
	case "":
		return d.climbTo(ctx, a, StopTerm)
	default:
		return d.climbTo(ctx, a, StopAsked)
	}
	screen, err := d.readScreen(ctx, a)
	if err != nil && d.timeOnRung(*a.StopAskedAt) < killAfter {
		return false, 0, err // tmux may answer at the next look
	}
	unknown := d.unrecognised(ctx, a)
	switch _, cannot := screen.CanType(d.runtimeOf(a).Can.StashKey != ""); {
	case err == nil && cannot == nil && d.inFront(a):
		unknown = nil
	case unknown != nil: // delivered by echo
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
	var way runtimes.Way
	if unknown != nil {
		way = runtimes.ByEcho
	}
	dl := &Delivery{ID: id, AgentID: a.ID, Way: way, Kind: KindExit, Text: d.runtimeOf(a).Can.ExitText, State: DeliveryTyping, Attempts: 1, CreatedAt: now, TypedAt: &now}
	a.StopStage, a.StopStageAt = StopAsked, &now
	e := d.event(event.AgentStopping, &a.ID, nil, map[string]any{"stage": StopAsked})
	c := Change{Agents: []*Agent{a}, NewDeliveries: []*Delivery{dl}, Events: []*event.Event{e}}
	if err := d.dropQueued(ctx, &c, a.ID, stopDrops); err != nil {
		return false, 0, err
	}
	if err := d.commit(ctx, &c); err != nil {
		return false, 0, fmt.Errorf("agent %d: exit: %w", a.ID, err)
	}
	if a.StopYields { // check once more: hooks may have come during the commit
		now, err := d.Store.Agent(ctx, a.ID)
		if err != nil {
			return false, 0, err
		}
		if yielded, err := d.yieldToWork(ctx, &now); yielded || err != nil {
			return yielded, 0, err
		}
	}
	if unknown != nil {
		return d.typeByEcho(ctx, a, dl, unknown)
	}
	if time.Since(screen.at) > lookFresh {
		if screen, err = d.readScreen(ctx, a); err != nil || !d.inFront(a) {
			return false, enterAfter, nil // nudgeExit types the command later
		}
	}
	return d.typeText(ctx, a, dl, screen)
}

// exitTypedLate restarts the agent's exit_timeout if more than half of it went by before the exit command was typed. It
// reports whether it did so.
func (d *Daemon) exitTypedLate(a *Agent, dl *Delivery) bool {
	late := dl.Kind == KindExit && dl.State == DeliveryTyped && a.StopStage == StopAsked && d.timeOnRung(*a.StopStageAt) > d.Settings().Handoff.ExitTimeout/2
	if late {
		now := d.now()
		a.StopStageAt = &now
	}
	return late
}

// actOnRung acts on the agent's rung, once in each daemon. The next daemon may send the same signal again, which does no
// harm. The only error that it returns is [ErrGivenWork]: the agent's server refuses the exit.
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
	case StopAsked:
		err = d.sendExit(ctx, a)
	case StopAnswer:
		err = d.answerExit(ctx, a)
	case StopTerm:
		err = d.signalAgent(ctx, a, syscall.SIGTERM)
	case StopKill:
		err = d.killAgent(ctx, a)
	}
	if errors.Is(err, ErrGivenWork) {
		return ErrGivenWork
	}
	if err != nil {
		d.Log.Warn("stop ladder: rung without effect", "agent_id", a.ID, "stage", string(a.StopStage), "error", err)
	}
	return nil
}

// running reports whether the agent's process lives. If the process is not known, it asks whether the pane is dead.
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
	d.endView(ctx, a)
	d.unsay(ctx, a)
	if err := d.countNow(ctx, a); err != nil {
		return err
	}
	now := d.now()
	e, err := d.endEvent(ctx, a)
	if err != nil {
		return fmt.Errorf("agent %d: end: %w", a.ID, err)
	}
	c := &Change{Agents: []*Agent{a}}
	if c.Agents, err = d.withPredecessor(ctx, a); err != nil {
		return fmt.Errorf("agent %d: end: %w", a.ID, err)
	}
	if over := d.endTrouble(a, "end"); over != nil {
		c.Events = append(c.Events, over)
	}
	c.Events = append(c.Events, e)
	worked := a.RegisteredAt != nil && a.LastPrompt > 0 && (a.State == Working || a.State == Waiting)
	a.be(Ended, now)
	a.EndedAt, a.Note = &now, ""
	switch {
	case e.Alert && d.fileGone(a):
		a.Note = noteGone
	case worked && a.Died():
		a.Note = noteBrokeOff
	}
	if err := d.commit(ctx, c); err != nil {
		return fmt.Errorf("agent %d: end: %w", a.ID, err)
	}
	d.Log.Info("agent ended", "agent_id", a.ID, "reason", words.Log(*a.EndReason))
	d.cleanUp(ctx, a)
	d.wakeKin(a)
	return nil
}

// endEvent finds out why an agent has ended, sets EndReason on the row, and makes the event. If nobody asked for the end,
// the event is an alert for a managed agent. For an agent that a person started it is an alert only if the agent's tmux
// server is gone and other agents have ended with it.
func (d *Daemon) endEvent(ctx context.Context, a *Agent) (e *event.Event, err error) {
	asked := a.EndHint != "" && a.EndHint != "other" || a.StopAskedAt != nil
	reason := cmp.Or(a.EndHint, "process_gone")
	payload := map[string]any{"asked": a.StopAskedAt != nil}
	told := !asked && a.Managed
	if !asked && d.serverGone(ctx, a) {
		reason, a.EndCause = endedByServer, serverCause(a.Ref())
		if !a.Managed {
			if told, err = d.endedTogether(ctx, a); err != nil {
				return nil, err
			}
		}
	}
	e = d.event(event.AgentEnded, &a.ID, nil, nil)
	if told {
		lost, cause, hint := false, reason, fmt.Sprintf("open its session again with `understudy agent resume %d`", a.ID)
		if a.EndCause == "" {
			var said string
			said, lost = d.lastWords(ctx, a)
			cause += said
		}
		switch {
		case lost:
			cause = endedLost + strings.TrimPrefix(cause, reason)
			again, err := d.startAnew(ctx, a)
			if err != nil {
				return nil, err
			}
			reason, hint = cause, again
		case a.RegisteredAt == nil:
			reason, hint = cause, "it never had a session: put that right and start it anew with `understudy agent start`" // nothing but its last words says why
		case d.fileGone(a):
			if hint, err = d.startAnew(ctx, a); err != nil {
				return nil, err
			}
		}
		tied, err := d.tied(ctx, a)
		if err != nil {
			return nil, err
		}
		payload["agent_name"], payload["tied"], payload["tmux_socket"], payload["own_server"] = a.Name, tied, a.PaneSocket, a.Managed
		payload["message"] = fmt.Sprintf("Agent %d (%s) ended without being asked (%s); %s.", a.ID, a.Name, event.EndWords(cause), hint)
		e.Alert, e.Cause = true, a.EndCause
	}
	a.EndReason, payload["reason"] = &reason, reason
	e.Payload = event.Payload(payload)
	return e, nil
}

// cleanUp removes the dead pane of an ended managed agent, and its launch files, which hold the secret.
func (d *Daemon) cleanUp(ctx context.Context, a *Agent) {
	if !a.Managed {
		return
	}
	// Keep the pane: people may be attached to it. passOn switches them to the successor's pane, and then cleans up; or the
	// successor takes the pane.
	if h, ok, err := d.openHandoff(ctx, a.ID); err == nil && ok && (h.Phase == ShuttingDown || h.InPlace) {
		return
	}
	d.removeLeft(ctx, a)
}

// removeLeft removes what an ended managed agent has left.
func (d *Daemon) removeLeft(ctx context.Context, a *Agent) {
	if err := d.removePane(ctx, a); err != nil {
		d.Log.Warn("dead pane not removed", "agent_id", a.ID, "error", err)
	}
	if err := d.removeLaunchFiles(a); err != nil {
		d.Log.Warn("launch files not removed", "agent_id", a.ID, "error", err)
	}
}

// removePane removes a pane whose process has ended. It first looks at the process once more, so that it kills nothing if
// the end was a mistake.
func (d *Daemon) removePane(ctx context.Context, a *Agent) error {
	term, err := d.terminalOf(a)
	if err != nil {
		return nil // the agent never had a pane
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
