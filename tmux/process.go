package tmux

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// Process is one run of one program. The system reuses process ids; the start time tells whether
// the process of that id is still the same one.
type Process struct {
	PID   int
	Start uint64 // when it started, in the system's own unit: on Linux clock ticks since boot
}

// stat is what the system says of a process.
type stat struct {
	parent int
	start  uint64
	zombie bool // it has ended, and its parent has not asked for its status yet

	stopped bool // by a signal, as Ctrl-Z sends one
	group   int  // its process group
	front   int  // the group in the foreground of its terminal; not positive: it has no terminal
}

// pollEvery is how often a process is looked at where the system cannot tell when it ends.
const pollEvery = 250 * time.Millisecond

// FindProcess returns the process that has this id now, or ErrNoProcess. A zombie is no process.
func FindProcess(pid int) (Process, error) {
	if pid <= 0 {
		return Process{}, fmt.Errorf("process %d: %w", pid, ErrNoProcess)
	}
	st, err := readStat(pid)
	if err != nil {
		return Process{}, fmt.Errorf("process %d: %w", pid, err)
	}
	if st.zombie {
		return Process{}, fmt.Errorf("process %d: %w", pid, ErrNoProcess)
	}
	return Process{PID: pid, Start: st.start}, nil
}

// Alive says whether the process has not ended. Only what is known to have ended is not alive: when
// the system can't be asked (no file descriptors are left, say), a process passes for alive.
func (p Process) Alive() bool {
	now, err := FindProcess(p.PID)
	if err != nil {
		return !errors.Is(err, ErrNoProcess)
	}
	return now == p
}

// IsDescendantOf says whether the process is pid or was started by it, directly or not. A process
// whose parent has ended is no longer a descendant of those before.
func (p Process) IsDescendantOf(pid int) bool {
	if pid <= 0 || !p.Alive() {
		return false
	}
	seen := map[int]bool{} // ids may be reused while we walk
	for at := p.PID; at > 0 && !seen[at]; {
		if at == pid {
			return true
		}
		seen[at] = true
		st, err := readStat(at)
		if err != nil {
			return false
		}
		at = st.parent
	}
	return false
}

// Stopped says whether the process is stopped by a signal, as Ctrl-Z sends one. What can't be known is not.
func (p Process) Stopped() bool { stopped, _ := p.Standing(); return stopped }

// InFront says whether the process gets what is typed into its terminal: it is not stopped, and belongs to
// the terminal's foreground process group. The shell does while a command of its own is stopped, runs in
// the background or has ended. A process that can't be looked at, or has no terminal, is not in front.
func (p Process) InFront() bool { _, inFront := p.Standing(); return inFront }

// Standing is [Process.Stopped] and [Process.InFront] by one look.
func (p Process) Standing() (stopped, inFront bool) {
	st, err := readStat(p.PID)
	if err != nil || st.start != p.Start {
		return false, false
	}
	return st.stopped, !st.zombie && !st.stopped && st.front > 0 && st.front == st.group
}

// poll waits for the end of the process by looking again and again.
func (p Process) poll(ctx context.Context) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for p.Alive() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d: %w", p.PID, context.Cause(ctx))
		case <-ticker.C:
		}
	}
	return nil
}

// signalByID signals where there is no pidfd; between the look and the signal the id could, in
// theory, be reused.
func (p Process) signalByID(sig syscall.Signal) error {
	if !p.Alive() {
		return p.wrap(ErrNoProcess)
	}
	if err := syscall.Kill(p.PID, sig); errors.Is(err, syscall.ESRCH) {
		return p.wrap(ErrNoProcess)
	} else if err != nil {
		return p.wrap(err)
	}
	return nil
}

func (p Process) wrap(err error) error { return fmt.Errorf("process %d: %w", p.PID, err) }
