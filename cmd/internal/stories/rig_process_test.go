package stories

import (
	"context"
	"encoding/json"
	"syscall"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// Acts on processes and sockets. Each has a second way for a rig in memory.

// alive reports whether the process exists.
func alive(r *rig, pid int) bool {
	find := tmux.FindProcess
	if r.memory != nil {
		find = r.memory.table.Find
	}
	_, err := find(pid)
	return err == nil
}

// killAgent kills the process in the agent's pane.
func killAgent(r *rig, agentID int64) {
	r.t.Helper()
	killProcess(r, r.pane(agentID).PID)
}

func killProcess(r *rig, pid int) {
	r.t.Helper()
	kill := func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }
	if r.memory != nil {
		kill = r.memory.kill
	}
	if err := kill(pid); err != nil {
		r.t.Fatalf("process %d: %v", pid, err)
	}
}

// killTmux kills the rig's tmux server.
func killTmux(r *rig) {
	if r.memory != nil {
		r.memory.term.die()
		return
	}
	panes, err := r.tmux.List(context.Background())
	if err != nil || len(panes) == 0 {
		r.t.Errorf("tmux: %d panes, %v", len(panes), err)
		return
	}
	if err := syscall.Kill(panes[0].ServerPID, syscall.SIGKILL); err != nil {
		r.t.Errorf("tmux server %d: %v", panes[0].ServerPID, err)
	}
}

// trySendHook sends a hook to the daemon.
func trySendHook(r *rig, env hooks.Envelope) (json.RawMessage, error) {
	if r.memory != nil {
		return r.memory.handleHook(r.t.Context(), r.memory.program(0), env)
	}
	return hooks.Send(r.t.Context(), r.dir.HookSocket(), env)
}

// sendHook sends a hook and returns the daemon's answer. An error fails the test.
func sendHook(r *rig, env hooks.Envelope) string {
	r.t.Helper()
	out, err := trySendHook(r, env)
	if err != nil {
		r.t.Fatalf("hook %s: %v", env.Event, err)
	}
	return string(out)
}

// kill sends SIGKILL to a process in memory.
func (m *computer) kill(pid int) error {
	p, err := m.table.Find(pid)
	if err != nil {
		return err
	}
	return m.table.Signal(p, syscall.SIGKILL)
}

// handleHook gives a hook to the daemon that listens, and returns its answer.
func (m *computer) handleHook(ctx context.Context, sender *program, e hooks.Envelope) (json.RawMessage, error) {
	return m.handleHeldHook(ctx, sender, e, nil)
}

// handleHeldHook is handleHook for a hook that may be held.
func (m *computer) handleHeldHook(ctx context.Context, sender *program, e hooks.Envelope, held func(handoff int64)) (json.RawMessage, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	patience := time.AfterFunc(hooks.AnswerTimeout(e.Event), cancel)
	defer patience.Stop()
	var hold func(int64)
	if e.Holds {
		hold = func(id int64) { patience.Stop(); held(id) }
	}
	type verdict struct {
		said json.RawMessage
		err  error
	}
	answered := make(chan verdict, 1)
	m.request(ctx, func(ctx context.Context, up *servingHere) {
		said, err := up.d.HookHeld(ctx, e, sender.peer(), hold)
		answered <- verdict{said, err}
	})
	select {
	case v := <-answered:
		return v.said, v.err
	default:
		return nil, daemon.Errorf(daemon.KindUnavailable, "no_answer", "No daemon has answered")
	}
}
