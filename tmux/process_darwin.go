package tmux

import (
	"context"
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// readStat asks the kernel's process table.
func readStat(pid int) (stat, error) {
	const zombie = 5 // SZOMB of sys/proc.h
	kp, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EIO) || err == nil && kp.Proc.P_pid == 0 {
		return stat{}, ErrNoProcess // the answer for an id that is free is an empty one
	}
	if err != nil {
		return stat{}, err
	}
	started := kp.Proc.P_starttime
	return stat{
		parent: int(kp.Eproc.Ppid),
		start:  uint64(started.Sec)*1_000_000 + uint64(started.Usec),
		zombie: kp.Proc.P_stat == zombie,
	}, nil
}

// Wait returns nil when the process has ended, or the cause of the context's end.
func (p Process) Wait(ctx context.Context) error { return p.poll(ctx) }

// Signal sends a signal to the process. ErrNoProcess means that it has ended.
func (p Process) Signal(sig syscall.Signal) error { return p.signalByID(sig) }
