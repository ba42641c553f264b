package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// Hook stores a hook and applies it to its agent. from is the process that sent the hook; nil: the hook came over TCP, where
// its sender is not known. Hook returns what the hook's command prints; nil: nothing. A hook whose key is stored already is
// answered from its row.
func (d *Daemon) Hook(ctx context.Context, env hooks.Envelope, from *tmux.Peer) (json.RawMessage, error) {
	return d.HookHeld(ctx, env, from, nil)
}

// HookHeld is [Daemon.Hook] for a hook whose answer may take as long as a handoff's document. If the hook is a person's
// /handoff, HookHeld calls held with the handoff's id, and then returns when the document is recorded or the handoff has
// ended. If it is a PermissionRequest for which a person is asked, HookHeld calls held with the permission's id, and returns
// when the permission has ended. If ctx ends before, nothing is lost, and the same hook may come again to wait on.
func (d *Daemon) HookHeld(ctx context.Context, env hooks.Envelope, from *tmux.Peer, held func(id int64)) (json.RawMessage, error) {
	out, cmd, err := d.arrive(ctx, env, from)
	switch {
	case err != nil || cmd == nil:
		return out, err
	case cmd.permissionID != 0:
		return d.holdPermission(ctx, cmd.permissionID, out, held)
	}
	return d.answerCommand(ctx, *cmd, held)
}

// arrive stores a hook and applies it to its agent. cmd is a person's /handoff, which is still to be answered; nil: the hook
// is none.
func (d *Daemon) arrive(ctx context.Context, env hooks.Envelope, from *tmux.Peer) (out json.RawMessage, cmd *command, err error) {
	defer d.arriving.begin(env.Launch)()
	// Check the sender now: its process may have ended by the time the spooled hooks are applied.
	claim, err := d.claimOf(ctx, env, from, false)
	if err != nil {
		return nil, nil, fmt.Errorf("hook %s %s: %w", env.Event, env.Key, err)
	}
	// An agent's hooks are applied in order: those that it has spooled come first.
	if err := d.replayBefore(ctx, env); err != nil {
		return nil, nil, err
	}
	return d.applyHook(ctx, env, claim, false)
}

// applyHook records a hook whose sender was checked, and wakes the lanes of the agents that it concerns. It returns what
// the hook's command prints. replayed: the hook comes from the spool.
func (d *Daemon) applyHook(ctx context.Context, env hooks.Envelope, c claim, replayed bool) (output json.RawMessage, cmd *command, err error) {
	rt, p, err := readHook(d.Settings(), &env)
	switch {
	case err != nil:
		d.Counts.Hook(env.Event, engine.HookRefused)
		return nil, nil, d.refuse(env.Event, err)
	case p.Event == "":
		return nil, nil, nil // the runtime told something that the daemon does not act on
	}
	p.TranscriptPath = d.Lasting(p.TranscriptPath)
	if c.boxed != nil {
		if err := d.withinBox(c.boxed, &p); err != nil {
			return nil, nil, err
		}
	}
	if rt.Can.AnswerInTranscript && p.Event == hooks.Stop {
		p.LastAssistantMessage = LastAnswer(ctx, rt, p.TranscriptPath)
	}
	in := daemon.HookInput{
		Key: env.Key, Event: p.Event, Host: d.Host, PID: c.pid, SessionID: p.SessionID,
		Body: env.Body, At: env.At, Replayed: replayed,
	}
	if in.At.IsZero() {
		in.At = d.Now()
	}
	in.At = in.At.UTC()
	if env.Launch != "" {
		in.LaunchHash = daemon.LaunchHash(env.Launch)
	}
	in.PIDStart = c.proc.Start
	step := hookStep{in: in, p: p, claim: c, command: d.isCommand(ctx, p, env.Launch != "" && d.Program != "", replayed), holds: env.Holds}
	step.goesOn = p.Handoff != 0 && d.goesOnAfter(ctx, rt, &p, c, replayed)
	if mayRegister(env) && c.notBinding == "" {
		step.pane, step.noPane = d.paneOf(ctx, env, c.proc)
		step.account = d.Accounts.OfProcess(c.proc, p.CWD)
		if step.around, err = d.AgentAround(ctx, c.proc); err != nil {
			return nil, nil, fmt.Errorf("hook %s %s: %w", env.Event, env.Key, err)
		}
		if step.around == 0 {
			step.around = d.AgentOfJob(ctx, c.pid, p.TranscriptPath)
		}
	}
	output, cmd, err = d.take(ctx, step)
	if err == nil && len(output) > 0 && rt.Answer != nil {
		output = rt.Answer(output)
	}
	return output, cmd, err
}

// take records a hook and wakes the lanes of the agents that it concerns. It returns what the hook's command prints, in
// Claude Code's form, or the person's /handoff.
func (d *Daemon) take(ctx context.Context, step hookStep) (json.RawMessage, *command, error) {
	p := step.p
	step.resets = d.resetOf(p, step.in.At)
	twin, told := d.told.tell(&step)
	step.twin = twin
	decided, res, err := d.recordHook(ctx, step)
	told(err == nil && res.Applied && decided.tx.Agent != nil)
	if decided.asked != nil {
		for _, p := range d.Parts {
			if p.Asked != nil {
				p.Asked(decided.asked) // whatever becomes of its hook, also if the commit seems to have failed
			}
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("hook %s %s: %w", p.Event, step.in.Key, err)
	}
	d.Counts.Recorded(p.Event, res, &decided.out.Change)
	if !res.Applied {
		d.Log.Debug("hook stored, not applied", "event", p.Event, "hook_id", res.HookID, "reason", res.Reason)
	}
	if decided.disbelieved != "" && !res.Again {
		d.disbelieved(p.Event, decided.disbelieved)
	}
	if res.AgentID != 0 {
		d.Wake(res.AgentID)
	}
	if a := decided.tx.Agent; a != nil {
		d.WakeKin(a)
	}
	d.EventsChanged()
	if decided.moved && res.Applied {
		d.LookAgain(res.AgentID) // which branch is checked out there
	}
	if decided.cancelled && res.Applied {
		d.EndFork(res.AgentID)
	}
	if step.command && (res.Applied || decided.rejoins) && res.AgentID != 0 {
		return nil, &command{agentID: res.AgentID, prompt: p.Prompt, at: step.in.At, again: res.Again}, nil
	}
	switch {
	case p.Event != hooks.PermissionRequest || res.AgentID == 0:
	case decided.asked != nil && res.Applied:
		return nil, &command{agentID: res.AgentID, permissionID: decided.asked.ID}, nil
	case decided.rejoins && step.holds && !step.in.Replayed:
		return res.Output, &command{agentID: res.AgentID, permissionID: res.HookID}, nil
	}
	return res.Output, nil, nil
}

// errUnseen undoes a hook's transaction: decide has asked a question that has no answer yet.
var errUnseen = errors.New("something must be looked at first")

// recordHook stores a hook with what follows from it, and returns the step as it was decided. If the decision asks for what is not known
// yet, recordHook undoes the transaction, looks and decides again: a file system that hangs must not hold row locks.
func (d *Daemon) recordHook(ctx context.Context, step hookStep) (decided hookStep, res daemon.HookResult, err error) {
	step.Facts = *d.Facts()
	for {
		res, err = d.Store.RecordHook(ctx, step.in, func(tx daemon.HookTx) daemon.HookDecision {
			decided = step // the store may call this again
			decided.tx = tx
			out := decided.decide()
			if decided.Open != nil {
				return daemon.HookDecision{Undone: errUnseen}
			}
			if tx.Agent != nil && out.Applied {
				d.Outdate(tx.Agent.ID)
			}
			return out
		})
		if !errors.Is(err, errUnseen) {
			return decided, res, err
		}
		step.Answers[*decided.Open] = lookFor(ctx, d, step.proc, *decided.Open)
	}
}

// mayRegister reports whether a hook may register the session that sent it, which a person started, as an agent.
func mayRegister(env hooks.Envelope) bool {
	return env.Launch == "" && (env.Event == hooks.SessionStart || env.Event == hooks.UserPromptSubmit)
}

// underway counts the hooks that have arrived and are not applied yet, by the hash of their launch secret. It is safe for
// concurrent use.
type underway struct {
	mu    sync.Mutex
	hooks map[string]int
}

// begin counts a hook until the returned function is called.
func (u *underway) begin(launch string) (end func()) {
	if launch == "" {
		return func() {}
	}
	key := string(daemon.LaunchHash(launch))
	u.add(key, 1)
	return func() { u.add(key, -1) }
}

func (u *underway) add(key string, n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.hooks == nil {
		u.hooks = map[string]int{}
	}
	if u.hooks[key] += n; u.hooks[key] == 0 {
		delete(u.hooks, key)
	}
}

// of reports whether a hook of an agent has arrived and is not applied yet.
func (u *underway) of(a *daemon.Agent) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.hooks[string(a.LaunchHash)] > 0
}

// claim is what a hook says of the process that it comes from, checked against the system.
type claim struct {
	pid        int           // the id here of the process that the hook names
	boxed      *daemon.Agent // the agent of ours in whose sandbox that process runs; nil: in none
	proc       tmux.Process  // the process that the hook names; zero: that is gone, or the hook names none
	notFrom    string        // why the hook does not come from proc or a child of proc; "": nothing speaks against it
	notBinding string        // why the hook does not make proc an agent's process; "": it may
}

// claimOf checks what a hook says of its process. from is the process that sent the hook through a unix socket; nil: the hook
// came over TCP or, with replayed, from the spool.
func (d *Daemon) claimOf(ctx context.Context, env hooks.Envelope, from *tmux.Peer, replayed bool) (claim, error) {
	var c claim
	if from != nil && from.PID != 0 && !d.Lives(from.Process) {
		// Nothing can be checked of a process that has ended. One that is ended while it waits for an answer spools its hook.
		return c, daemon.Errorf(daemon.KindUnavailable, daemon.CodeSenderGone, "The hook's process has ended")
	}
	proc, err := d.here(ctx, env, from, &c)
	if err != nil {
		return c, err
	}
	if proc.PID != 0 && (env.AgentStart == 0 || env.AgentStart == proc.Start && env.Boot == d.Processes.Boot()) {
		c.proc = proc
	}
	if from != nil {
		c.notFrom = d.Processes.Strange(from, c.proc, c.boxed != nil)
	}
	switch {
	case c.proc.PID == 0:
		c.notBinding = "its process is gone or unnamed"
	case c.notFrom != "":
		c.notBinding = c.notFrom
	case from == nil && !replayed:
		c.notBinding = "it came over TCP, where nothing tells which process sent it"
	case replayed && env.AgentStart == 0:
		c.notBinding = "it comes out of the spool and does not tell when its process started"
	case mayRegister(env), env.Event == hooks.SessionStart: // other hooks make no process an agent's
		c.notBinding = d.Protected(ctx, c.proc, c.boxed != nil)
	}
	return c, nil
}

// mayBind reports whether no hook has told the process of a launched agent yet: its session has not begun, or the daemon has
// only seen it on the screen.
func (h *hookStep) mayBind() bool {
	a := h.tx.Agent
	return a.Managed && (a.RegisteredAt == nil || a.SessionID == nil)
}

// foreign says why a hook does not come from this agent; "": it does. All that an agent starts inherits its environment and
// with it the launch secret, a "claude -p" for one; only the launch's own process speaks for the agent. A sender with the
// secret is believed about its process, unless the hook gives the agent its process. A person's agent has no secret, so
// that the sender must be the agent's process or run inside it.
func (h *hookStep) foreign() string {
	a := h.tx.Agent
	switch {
	case a.PID != 0 && h.in.PID == a.PID:
		if !a.Managed {
			return h.notFrom
		}
		return ""
	case a.PID == 0 && h.proc.PID == 0:
		return ""
	case h.in.PID == 0:
		return "it does not say which process it comes from"
	case a.PID == 0, h.mayBind() && h.proc.PID != 0 && h.Ask(engine.Question{Within: a.PID}).Yes:
		return h.notBinding // the launched command may start the runtime as its child
	}
	return fmt.Sprintf("it comes from process %d, the agent is process %d", h.in.PID, a.PID)
}

// holdPermission has the room of the permissions hold a hook. Without that room the hook ends without an answer.
func (d *Daemon) holdPermission(ctx context.Context, id int64, stored json.RawMessage, joined func(id int64)) (json.RawMessage, error) {
	for _, p := range d.Parts {
		if p.Hold != nil {
			return p.Hold(ctx, id, stored, joined)
		}
	}
	return stored, nil
}
