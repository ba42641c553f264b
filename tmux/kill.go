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
//
// Kill ends only the program that it has found: if Respawn starts another one meanwhile, that one stays, even if tmux runs
// the command late.
func (s *Server) Kill(ctx context.Context, ref Ref) error { return s.kill(ctx, ref, "") }

// KillMarked is Kill for a pane that still has the mark. If Respawn has given the pane another, KillMarked does nothing.
func (s *Server) KillMarked(ctx context.Context, ref Ref, mark string) error {
	if mark == "" || !onceToken().MatchString(mark) {
		return fmt.Errorf("pane %s: mark %q: want up to 64 of a-z, 0-9 and -", ref, mark)
	}
	return s.kill(ctx, ref, mark)
}

func (s *Server) kill(ctx context.Context, ref Ref, mark string) error {
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
	if mark != "" && pane.Mark != mark {
		return nil
	}
	if err := killGroup(pane); err != nil {
		return err
	}
	// tmux compares and kills in one pass. The mark counts, too: the system may have given the process id to a successor.
	same := fmt.Sprintf("#{==:#{pane_pid},%d}", pane.PID)
	if mark != "" {
		same = "#{&&:" + same + "," + marked(mark) + "}"
	}
	_, err = s.run(ctx, call{socket: ref.Socket, server: ref.ServerPID, cmds: [][]string{
		{"if-shell", "-F", "-t", ref.Pane, guard(ref, same), "kill-pane -t " + ref.Pane},
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
