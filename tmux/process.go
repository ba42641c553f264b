package tmux

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// Process is one run of one program. The system reuses process ids; the start time says whether
// the process with that id is still the same one.
type Process struct {
	PID   int
	Start uint64 // when it started, in a unit of the system: on Linux clock ticks since boot
}

// stat is the system's description of a process.
type stat struct {
	parent int
	start  uint64
	zombie bool // it has ended, but its parent has not waited for it yet

	stopped bool // by a signal, such as the one of Ctrl-Z
	group   int  // its process group
	front   int  // foreground group of its terminal; not positive if it has no terminal
}

// pollEvery is the interval between looks at a process where the system cannot report its end.
const pollEvery = 250 * time.Millisecond

// FindProcess returns the process that has this id now, or ErrNoProcess. A zombie does not count.
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

// Alive says whether the process has not ended. If the system can't be asked, for example because no
// file descriptors are left, the process counts as alive.
func (p Process) Alive() bool {
	now, err := FindProcess(p.PID)
	if err != nil {
		return !errors.Is(err, ErrNoProcess)
	}
	return now == p
}

// IsDescendantOf says whether the process is pid or was started by it, directly or indirectly. When a
// process on the way has ended, those below it no longer count as descendants.
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

// Stopped says whether a signal, such as the one of Ctrl-Z, has stopped the process; false if that is unknown.
func (p Process) Stopped() bool { stopped, _ := p.Standing(); return stopped }

// InFront says whether the process receives what is typed into its terminal: it is not stopped, and it is in
// the terminal's foreground process group. A shell is in front while its own command is stopped, runs in the
// background or has ended. A process that can't be looked at, or has no terminal, is not in front.
func (p Process) InFront() bool { _, inFront := p.Standing(); return inFront }

// Standing returns [Process.Stopped] and [Process.InFront] from one look.
func (p Process) Standing() (stopped, inFront bool) {
	st, err := readStat(p.PID)
	if err != nil || st.start != p.Start {
		return false, false
	}
	return st.stopped, !st.zombie && !st.stopped && st.front > 0 && st.front == st.group
}

// poll waits for the end of the process by looking at it again and again.
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

// signalByID signals a process where the system has no pidfd. In theory the id could be reused between
// the look and the signal.
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
