package agents

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
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

// StopLadder takes an agent that was asked to stop one rung further when that is due. It commits each rung before it
// acts on it. A signal goes to the process by pid and start time, never to a pid alone.
//
// For instance, an idle agent with exit_timeout 20 s:
//   - 0 s, StopAsked: /exit is typed. If it still stands in the composer after 1 s, Enter is pressed again.
//   - 2 s, StopAnswer: the runtime asks whether to end background tasks, or whether to keep the work tree that it has made,
//     and is answered with Enter: it ends the tasks, and keeps the tree.
//   - 20 s on either rung, StopTerm: SIGTERM. 5 s later, StopKill: kill. 5 s later, StopFailed: the operator is told.
//
// A busy agent is first interrupted with Esc (StopBreak) if that was asked for. A forced stop begins at StopTerm.
func (d *Supervisor) StopLadder(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	var onRung time.Duration
	if a.StopStageAt != nil {
		onRung = d.TimeOnRung(*a.StopStageAt)
	}
	exit := d.Settings().Handoff.ExitTimeout
	if yielded, err := d.yieldToWork(ctx, a); yielded || err != nil {
		return yielded, 0, err
	}
	switch a.StopStage {
	case daemon.StopNone:
		switch {
		case a.StopForce || !a.HasPane() || d.Sighted(a.ID).Behind: // the exit command would end the view of the session alone
			return d.climbTo(ctx, a, daemon.StopTerm)
		case a.StopInterrupt && !a.AtRest():
			return d.climbTo(ctx, a, daemon.StopBreak)
		case a.AtRest() && d.RuntimeOf(a).RemovesTree(worktree.Lock(a.Cwd), a.PID): // a successor may be about to work in it
			return d.climbTo(ctx, a, daemon.StopTerm)
		case a.AtRest() && d.RuntimeOf(a).Can.Exit != runtimes.ByServer && d.TimeOnRung(*a.StopAskedAt) < d.readyWithin(a):
			// Wait for the composer: the agent's Stop hook may not have returned yet, and the runtime would queue the
			// exit command behind that hook.
			if screen, why, again := d.Composer(ctx, a); screen == nil && why.Kind != daemon.HoldDialog {
				return false, again, nil
			}
		}
		return d.askToExit(ctx, a)
	case daemon.StopBreak:
		switch {
		case onRung >= breakAfter:
			return d.climbTo(ctx, a, daemon.StopTerm)
		case onRung >= breakSoon && d.TurnInterrupted(ctx, a):
			return d.askToExit(ctx, a)
		}
		return false, breakSoon, d.actOnRung(ctx, a)
	case daemon.StopAsked:
		if d.RuntimeOf(a).Can.Exit != runtimes.ByTyping {
			if onRung >= exit {
				return d.climbTo(ctx, a, daemon.StopTerm)
			}
			err := d.actOnRung(ctx, a)
			if errors.Is(err, daemon.ErrGivenWork) {
				return d.exitRefused(ctx, a)
			}
			return false, exit - onRung, err
		}
		switch {
		case onRung >= exit && a.StopYields && a.State == daemon.Working:
			// Withdraw the exit: a turn runs that no hook reported, because a person typed behind the exit command and
			// submitted both as a prompt.
			return true, 0, d.withdrawExit(ctx, a)
		case onRung >= exit:
			return d.climbTo(ctx, a, daemon.StopTerm)
		case onRung >= dialogAfter:
			if s, err := d.ReadScreen(ctx, a); err == nil && asksAtExit(s) {
				return d.climbTo(ctx, a, daemon.StopAnswer)
			}
		}
		if onRung >= deliveries.EnterAfter {
			d.NudgeExit(ctx, a)
		}
		return false, time.Second, nil
	case daemon.StopAnswer:
		if onRung >= exit {
			return d.climbTo(ctx, a, daemon.StopTerm)
		}
		return answerRung(ctx, d, a, onRung, exit)
	case daemon.StopTerm:
		if onRung >= killAfter {
			return d.climbTo(ctx, a, daemon.StopKill)
		}
		return false, killAfter - onRung, d.actOnRung(ctx, a)
	case daemon.StopKill:
		if onRung >= giveUpAfter {
			return d.climbTo(ctx, a, daemon.StopFailed)
		}
		return false, giveUpAfter - onRung, d.actOnRung(ctx, a)
	}
	return false, 0, nil
}

// climbTo commits the next rung.
func (d *Supervisor) climbTo(ctx context.Context, a *daemon.Agent, to daemon.StopStage) (bool, time.Duration, error) {
	a.ClimbTo(to, d.Now())
	c := daemon.Change{Agents: []*daemon.Agent{a}}
	if to == daemon.StopAsked {
		if err := d.DropQueued(ctx, &c, a.ID, daemon.EvidenceStopAsked); err != nil {
			return false, 0, err
		}
	}
	e := d.Event(event.AgentStopping, &a.ID, nil, map[string]any{"stage": to})
	if to == daemon.StopFailed {
		e = d.Event(event.AgentStopFailed, &a.ID, nil, map[string]any{"message": fmt.Sprintf(
			"Agent %d (process %d) could not be ended; end it yourself: see `ps -fp %[2]d`.", a.ID, a.PID)})
		e.Alert = true
	}
	c.Events = []*event.Event{e}
	if err := d.Commit(ctx, &c); err != nil {
		return false, 0, fmt.Errorf("agent %d: stop: %w", a.ID, err)
	}
	d.WakeKin(a)
	return true, 0, nil
}

// askToExit asks the runtime to exit. If the runtime takes that from its server or its inbox, the rung does it. Otherwise
// askToExit types the exit command, as a delivery. Nothing can be typed while a dialog is open or there is no
// composer. In that case askToExit withdraws the request if the agent's handoff made it; otherwise it climbs to StopTerm.
func (d *Supervisor) askToExit(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	switch d.RuntimeOf(a).Can.Exit {
	case runtimes.ByTyping:
	case "":
		return d.climbTo(ctx, a, daemon.StopTerm)
	default:
		return d.climbTo(ctx, a, daemon.StopAsked)
	}
	screen, err := d.ReadScreen(ctx, a)
	if err != nil && d.TimeOnRung(*a.StopAskedAt) < killAfter {
		return false, 0, err // tmux may answer at the next look
	}
	unknown := d.Unrecognised(ctx, a)
	switch {
	case err == nil && sight.BlocksExit(d.Sight, a, screen) == "":
		unknown = nil
	case unknown != nil: // delivered by echo
	case a.StopYields:
		return true, 0, d.withdrawExit(ctx, a)
	default:
		return d.climbTo(ctx, a, daemon.StopTerm)
	}
	id, err := d.Store.NextID(ctx, daemon.DeliveryIDs)
	if err != nil {
		return false, 0, err
	}
	now := d.Now()
	var way runtimes.Way
	if unknown != nil {
		way = runtimes.ByEcho
	}
	dl := daemon.NewDelivery(id, a.ID, daemon.KindExit, d.RuntimeOf(a).Can.ExitText, "", now)
	dl.BeginTyping(way, 0, now)
	a.ClimbTo(daemon.StopAsked, now)
	e := d.Event(event.AgentStopping, &a.ID, nil, map[string]any{"stage": daemon.StopAsked})
	c := daemon.Change{Agents: []*daemon.Agent{a}, NewDeliveries: []*daemon.Delivery{dl}, Events: []*event.Event{e}}
	if err := d.DropQueued(ctx, &c, a.ID, daemon.EvidenceStopAsked); err != nil {
		return false, 0, err
	}
	if err := d.Commit(ctx, &c); err != nil {
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
		return d.TypeByEcho(ctx, a, dl, unknown)
	}
	if time.Since(screen.At) > deliveries.LookFresh {
		if screen, err = d.ReadScreen(ctx, a); err != nil || !d.InFront(a) {
			return false, deliveries.EnterAfter, nil // NudgeExit types the command later
		}
	}
	return d.TypeText(ctx, a, dl, screen)
}

// actOnRung acts on the agent's rung, once in each daemon. The next daemon may send the same signal again, which does no
// harm. The only error that it returns is [ErrGivenWork]: the agent's server refuses the exit.
func (d *Supervisor) actOnRung(ctx context.Context, a *daemon.Agent) error {
	done := false
	d.memories.Change(a.ID, func(m *supervisorMemory) { done, m.actedRung = m.actedRung == a.StopStage, a.StopStage })
	if done {
		return nil
	}
	var err error
	switch a.StopStage {
	case daemon.StopBreak:
		err = d.PressEscape(ctx, a)
	case daemon.StopAsked:
		err = d.sendExit(ctx, a)
	case daemon.StopAnswer:
		err = d.answerExit(ctx, a)
	case daemon.StopTerm:
		err = d.signalAgent(ctx, a, syscall.SIGTERM)
	case daemon.StopKill:
		err = d.killAgent(ctx, a)
	}
	if errors.Is(err, daemon.ErrGivenWork) {
		return daemon.ErrGivenWork
	}
	if err != nil {
		d.Log.Warn("stop ladder: rung without effect", "agent_id", a.ID, "stage", string(a.StopStage), "error", err)
	}
	return nil
}

// Running reports whether the agent's process lives. If the process is not known, it asks whether the pane is dead.
func (d *Supervisor) Running(ctx context.Context, a *daemon.Agent) bool {
	if a.PID != 0 {
		return d.Lives(a.Process())
	}
	term, err := d.TerminalOf(a)
	if err != nil {
		return true
	}
	info, err := term.Inspect(ctx, a.Ref())
	return !errors.Is(err, tmux.ErrGone) && (err != nil || !info.Dead)
}

// StopAgent commits a request to stop an agent. The agent's lane then climbs the stop ladder. With force the ladder begins
// with SIGTERM.
func (d *Supervisor) StopAgent(ctx context.Context, id int64, force bool) (daemon.Agent, error) {
	return d.UpdateAgent(ctx, id, func(a *daemon.Agent, c *daemon.Change) error {
		if err := d.DropQueued(ctx, c, id, daemon.EvidenceStopAsked); err != nil {
			return err
		}
		c.Events = []*event.Event{d.Event(event.AgentStopRequested, &a.ID, nil, map[string]any{"force": force})}
		if !daemon.BeingEnded(a) {
			a.AskToStop(d.Now(), false)
		}
		a.StopAnyway() // a person asked for the stop
		if force {
			a.StopByForce()
		}
		return nil
	})
}

// Screen returns the text on the screen of an agent's pane. With ansi, colours are SGR sequences.
func (d *Supervisor) Screen(ctx context.Context, id int64, ansi bool) (string, error) {
	a, err := InPane(ctx, d, id)
	if err != nil {
		return "", err
	}
	d.readyLine(ctx, &a)
	text, err := d.Capture(ctx, &a, ansi)
	if errors.Is(err, tmux.ErrGone) {
		return "", daemon.ErrAgentNoPane
	}
	return text, err
}
