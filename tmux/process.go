package tmux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"
)

// Process is one run of one program. The system reuses process ids. The start time shows whether
// the process that has the id now is still this one.
type Process struct {
	PID   int
	Start uint64 // start time in a unit of the system: on Linux, clock ticks since boot
}

// stat is the system's description of a process.
type stat struct {
	parent int
	start  uint64
	zombie bool // the process has ended, but its parent has not waited for it yet

	stopped bool // a signal, such as that of Ctrl-Z, has stopped the process
	group   int  // its process group
	front   int  // foreground process group of its terminal; not positive without a terminal
}

// pollEvery is how often poll looks at a process.
const pollEvery = 250 * time.Millisecond

// FindProcess returns the process that has this id now, or ErrNoProcess. A zombie does not count as a process.
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

// Alive says whether the process is running. If that cannot be found out, for example because no file descriptors
// are left, it returns true.
func (p Process) Alive() bool {
	now, err := FindProcess(p.PID)
	if err != nil {
		return !errors.Is(err, ErrNoProcess)
	}
	return now == p
}

// Ancestry lists the ids of the process, of the one that started it, and so on up to the first process of all. If one of
// these has ended, the list goes on with the process that has inherited its children. It is nil if the process has ended.
func (p Process) Ancestry() (line []int) {
	if !p.Alive() {
		return nil
	}
	for at := p.PID; at > 0 && !slices.Contains(line, at); { // an id that is reused meanwhile could lead in a circle
		line = append(line, at)
		st, err := readStat(at)
		if err != nil {
			return line
		}
		at = st.parent
	}
	return line
}

// IsDescendantOf says whether pid is in the process's [Process.Ancestry].
func (p Process) IsDescendantOf(pid int) bool { return slices.Contains(p.Ancestry(), pid) }

// Stopped says whether a signal, such as that of Ctrl-Z, has stopped the process. If that is unknown, it returns false.
func (p Process) Stopped() bool { stopped, _ := p.Standing(); return stopped }

// InFront says whether the process receives the keys that are typed into its terminal. It does if it is not stopped and
// is in the terminal's foreground process group. A shell is in front while its command is stopped, runs in the
// background or has ended. If the process cannot be looked at or has no terminal, InFront returns false.
func (p Process) InFront() bool { _, inFront := p.Standing(); return inFront }

// Standing returns [Process.Stopped] and [Process.InFront] from one look.
func (p Process) Standing() (stopped, inFront bool) {
	st, err := readStat(p.PID)
	if err != nil || st.start != p.Start {
		return false, false
	}
	return st.stopped, !st.zombie && !st.stopped && st.front > 0 && st.front == st.group
}

// poll waits for the end of the process, and looks at the process every pollEvery. It is for systems that cannot
// report the end.
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

// signalByID sends a signal on systems without pidfds. In theory the system could reuse the id between the check and
// the signal.
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
