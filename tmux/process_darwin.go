package tmux

import (
	"context"
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// readStat asks the kernel's process table.
func readStat(pid int) (stat, error) {
	const stopped, zombie = 4, 5 // SSTOP and SZOMB of sys/proc.h
	kp, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EIO) || err == nil && kp.Proc.P_pid == 0 {
		return stat{}, ErrNoProcess // for a free id the kernel returns an empty entry
	}
	if err != nil {
		return stat{}, err
	}
	started := kp.Proc.P_starttime
	return stat{
		parent: int(kp.Eproc.Ppid),
		start:  uint64(started.Sec)*1_000_000 + uint64(started.Usec),
		zombie: kp.Proc.P_stat == zombie,

		stopped: kp.Proc.P_stat == stopped,
		group:   int(kp.Eproc.Pgid),
		front:   int(kp.Eproc.Tpgid),
	}, nil
}

// Named returns the process with an id: macOS has no PID namespaces.
func (p Process) Named(pid int, _ uint64) (Process, error) { return FindProcess(pid) }

// Wait returns nil when the process has ended. If ctx ends first, it returns the cause.
func (p Process) Wait(ctx context.Context) error { return p.poll(ctx) }

// Signal sends a signal to the process. ErrNoProcess means that it has ended.
func (p Process) Signal(sig syscall.Signal) error { return p.signalByID(sig) }
