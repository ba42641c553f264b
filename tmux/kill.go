package tmux

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

// Kill ends a pane. First it sends SIGKILL to the process group of the pane's program, because a program that ignores
// SIGHUP would outlive the pane. Then it ends the pane itself. If the pane is gone, or its server was replaced, Kill
// returns nil. It does not end a child that left the process group (setsid).
func (s *Server) Kill(ctx context.Context, ref Ref) error {
	if err := ref.Check(); err != nil {
		return err
	}
	pane, err := s.inspect(ctx, ref, []string{"display-message", "-p", "-t", ref.Pane, paneFormat})
	if errors.Is(err, ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := killGroup(pane); err != nil {
		return err
	}
	_, err = s.run(ctx, call{socket: ref.Socket, server: ref.ServerPID, cmds: [][]string{
		// Not if Respawn has started another program there meanwhile.
		{"if-shell", "-F", "-t", ref.Pane, guard(ref, fmt.Sprintf("#{==:#{pane_pid},%d}", pane.PID)), "kill-pane -t " + ref.Pane},
	}})
	if err != nil && !errors.Is(err, ErrNoServer) {
		return fmt.Errorf("pane %s: %w", ref, err)
	}
	return nil
}

// killGroup kills the process group that the pane's program leads. The system does not reuse a process id while a group
// has the same id, so the group is the pane's even if its leader has ended. If the pane is dead but a process has the
// leader's id, that is an unrelated process: killGroup then kills nothing.
func killGroup(pane PaneInfo) error {
	if pane.PID <= 1 {
		return nil
	}
	if pane.Dead {
		if _, err := FindProcess(pane.PID); !errors.Is(err, ErrNoProcess) {
			return err
		}
	}
	err := syscall.Kill(-pane.PID, syscall.SIGKILL)
	if err != nil && !errors.Is(err, syscall.ESRCH) && !errors.Is(err, syscall.EPERM) {
		return fmt.Errorf("process group %d: %w", pane.PID, err)
	}
	return nil
}
