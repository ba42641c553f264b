package tmux

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

// Kill ends a pane: first the process group of its program with SIGKILL, because a program that
// ignores the hangup would outlive the pane, then the pane itself. A pane that is gone, or whose
// server was replaced, is no error. Kill does not end a child that left the process group (setsid).
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
		{"if-shell", "-F", "-t", ref.Pane, guard(ref, "1"), "kill-pane -t " + ref.Pane},
	}})
	if err != nil && !errors.Is(err, ErrNoServer) {
		return fmt.Errorf("pane %s: %w", ref, err)
	}
	return nil
}

// killGroup kills the process group that the pane's program leads. The system does not reuse a
// process id while a group still has it: if the leader is gone, the group is still ours. If the pane
// is dead and a process has that id, it is an unrelated process, which is not killed.
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
