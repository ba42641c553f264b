package agents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/tmux"
)

// sendExit asks a runtime to exit that is not asked by typing.
func (d *Supervisor) sendExit(ctx context.Context, a *daemon.Agent) error {
	ctx, cancel := context.WithTimeout(ctx, deliveries.SendLimit)
	defer cancel()
	switch can := &d.RuntimeOf(a).Can; can.Exit {
	case runtimes.ByServer:
		var rest *runtimes.Rest
		if a.StopYields && a.AtRest() {
			rest = &runtimes.Rest{Prompt: a.TurnPromptID, Since: d.EarliestShown(a.StateAt)}
		}
		return d.BySession(a, func(c engine.Control) error { return c.Exit(ctx, rest) })
	case runtimes.ByEcho:
		return d.exitByEcho(ctx, a, can.ExitText)
	}
	wanted := map[string]any{"exit": true}
	if a.StopYields { // a prompt may be on its way, of which no hook has told yet: our extension does not exit after a later turn
		wanted["turn"] = a.TurnPromptID
	}
	return d.PutInInbox(a, deliveries.InboxExit, wanted)
}

// exitByEcho types the exit command of a runtime whose screen is hardly known. The rung climbs on if that does not help.
func (d *Supervisor) exitByEcho(ctx context.Context, a *daemon.Agent, text string) error {
	s, err := d.ReadScreen(ctx, a)
	if err != nil || !s.Composer || !d.InFront(a) { // no draft and no turn can be told on such a screen: sight.BlocksExit asks for more
		return err
	}
	term, err := d.TerminalOf(a)
	if err != nil {
		return err
	}
	once := fmt.Sprintf("%s-exit-%d", engine.Checksum([]byte(d.Host))[:12], a.StopAskedAt.UnixMilli())
	if err := term.Paste(ctx, a.Ref(), text, tmux.PasteOptions{Once: once, If: s.Sight()}); err != nil {
		return err
	}
	if pressed, _ := d.EnterWhenShown(ctx, a, text, term, s); !pressed {
		return errors.New("the screen did not show the exit command")
	}
	return nil
}

// PressEscape interrupts the running turn, or dismisses the open dialog. It presses nothing if the registry says that
// the agent is idle: an earlier daemon may have pressed Escape, and a second one would open another dialog.
func (d *Supervisor) PressEscape(ctx context.Context, a *daemon.Agent) error {
	if s := d.Look(a); s.Status == runtimes.StatusIdle {
		return nil
	}
	rt := d.RuntimeOf(a)
	if rt.Can.Registers == runtimes.RegistersByServer {
		ctx, cancel := context.WithTimeout(ctx, deliveries.SendLimit)
		defer cancel()
		return d.BySession(a, func(c engine.Control) error { return c.Interrupt(ctx) })
	}
	term, err := d.TerminalOf(a)
	if err != nil || !d.InFront(a) {
		return err
	}
	return term.Press(ctx, a.Ref(), tmux.Sight{}, slices.Repeat([]tmux.Key{tmux.Escape}, max(1, rt.Can.Escapes))...)
}

// TurnInterrupted reports whether the registry and the screen say that no turn runs.
func (d *Supervisor) TurnInterrupted(ctx context.Context, a *daemon.Agent) bool {
	if d.Look(a).Busy() {
		return false
	}
	if d.RuntimeOf(a).Can.Registers == runtimes.RegistersByServer {
		return a.State == daemon.Idle
	}
	screen, err := d.ReadScreen(ctx, a)
	return err == nil && screen.Composer && !screen.Busy
}

// answerRung answers the question of the runtime, and the one that may follow it.
func answerRung(ctx context.Context, d *Supervisor, a *daemon.Agent, onRung, exit time.Duration) (bool, time.Duration, error) {
	if err := d.actOnRung(ctx, a); err != nil || onRung < dialogAfter {
		return false, min(dialogAfter, exit) - onRung, err
	}
	if s, err := d.ReadScreen(ctx, a); err == nil && s.Dialog == claude.DialogExitTree {
		_ = d.answerExit(ctx, a) // if it fails, SIGTERM follows
	}
	return false, time.Second, nil
}

// answerExit presses Enter at the runtime's question whether to exit, if the screen still shows it.
func (d *Supervisor) answerExit(ctx context.Context, a *daemon.Agent) error {
	s, err := d.ReadScreen(ctx, a)
	if err != nil || !asksAtExit(s) || !d.InFront(a) {
		return err
	}
	sight := s.Sight()
	if s.Dialog == claude.DialogExitTree {
		selected, ok := exitChoice(d.RuntimeOf(a), s)
		if !ok || !strings.HasPrefix(selected.Label, claude.KeepTree) {
			return errors.New("the choice that keeps the work tree is not selected")
		}
		sight.Row = selected.Row
	}
	term, err := d.TerminalOf(a)
	if err != nil {
		return err
	}
	return term.Press(ctx, a.Ref(), sight, tmux.Enter)
}

// exitChoice returns the choice that Enter would take of the dialog that the runtime opens when it is told to exit. ok is false if no such
// dialog is open, or its choices cannot be read.
func exitChoice(rt *runtimes.Runtime, s *sight.Screen) (selected runtimes.Choice, ok bool) {
	if !asksAtExit(s) {
		return selected, false
	}
	dialog := rt.ReadDialog(runtimes.View{Text: s.Text})
	i := dialog.Selected()
	if i < 0 {
		return selected, false
	}
	return dialog.Choices[i], true
}

// asksAtExit reports whether the screen shows a dialog that the runtime opens when it is told to exit.
func asksAtExit(s *sight.Screen) bool {
	return s.Dialog == claude.DialogExitTasks || s.Dialog == claude.DialogExitTree
}

func (d *Supervisor) signalAgent(ctx context.Context, a *daemon.Agent, sig syscall.Signal) error {
	if a.PID == 0 {
		return errors.New("its process is unknown")
	}
	why := ""
	if a.Managed {
		why = sight.NotOfLaunch(d.Sight, a)
	} else {
		why = d.Protected(ctx, a.Process(), a.Sandbox)
	}
	if why != "" {
		return errors.New(why)
	}
	return d.Processes.Signal(a.Process(), sig)
}

// killAgent ends an agent for good. It kills the pane of a managed agent, which is on the daemon's own server. In a
// person's pane it kills only the agent's process, because the person's shell runs in that pane.
func (d *Supervisor) killAgent(ctx context.Context, a *daemon.Agent) error {
	if !a.Managed || !a.HasPane() {
		return d.signalAgent(ctx, a, syscall.SIGKILL)
	}
	term, err := d.TerminalOf(a)
	if err != nil {
		return err
	}
	err = term.Kill(ctx, a.Ref())
	if a.PID != 0 && d.Lives(a.Process()) {
		err = errors.Join(err, d.signalAgent(ctx, a, syscall.SIGKILL))
	}
	return err
}

// readyWithin is how long an idle agent that is asked to exit may take until its composer is ready. A runtime that drops an Enter
// while its screen shows a turn or a hook gets more time.
func (d *Supervisor) readyWithin(a *daemon.Agent) time.Duration {
	if d.RuntimeOf(a).Can.EnterAfter > 0 {
		return max(readyAfter, d.Settings().Handoff.ExitTimeout/2)
	}
	return readyAfter
}
