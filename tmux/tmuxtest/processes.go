package tmuxtest

import (
	"context"
	"fmt"
	"sync"
	"syscall"

	"github.com/understudyd/understudy/tmux"
)

// Processes is the process table of a machine in memory. It is safe for concurrent use.
type Processes struct {
	mu    sync.Mutex // guards the fields below
	next  int
	procs map[int]*process
}

type process struct {
	tmux.Process
	parent int
	ended  chan struct{}
	gone   bool
	signal func(syscall.Signal)
}

// AbovePID is above every process id of the system and of a [Fake]. A table of processes gives out the
// ids after it.
const AbovePID = firstPID + 999

// NewProcesses returns a table without processes.
func NewProcesses() *Processes { return &Processes{next: AbovePID, procs: map[int]*process{}} }

// Start adds a process. signal, which may be nil, is called with each signal that the process is sent.
func (t *Processes) Start(parent int, signal func(syscall.Signal)) tmux.Process {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	return t.put(t.next, parent, signal)
}

// Put adds a process with a given id.
func (t *Processes) Put(pid int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.put(pid, 0, nil)
}

// put adds a process. The caller holds the lock.
func (t *Processes) put(pid, parent int, signal func(syscall.Signal)) tmux.Process {
	p := tmux.Process{PID: pid, Start: uint64(pid) * 10}
	t.procs[pid] = &process{Process: p, parent: parent, ended: make(chan struct{}), signal: signal}
	return p
}

// End ends a process.
func (t *Processes) End(p tmux.Process) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q := t.procs[p.PID]; q != nil && !q.gone {
		q.gone = true
		close(q.ended)
	}
}

// find returns a process that has not ended, or nil.
func (t *Processes) find(pid int) *process {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q := t.procs[pid]; q != nil && !q.gone {
		return q
	}
	return nil
}

// Find returns the process that has this id now, or [tmux.ErrNoProcess].
func (t *Processes) Find(pid int) (tmux.Process, error) {
	if q := t.find(pid); q != nil {
		return q.Process, nil
	}
	return tmux.Process{}, fmt.Errorf("process %d: %w", pid, tmux.ErrNoProcess)
}

// Lives says whether a process is alive.
func (t *Processes) Lives(p tmux.Process) bool {
	q := t.find(p.PID)
	return q != nil && q.Process == p
}

// Ancestry lists the ids of a process, of the one that started it, and so on, up to one that has ended.
func (t *Processes) Ancestry(p tmux.Process) (line []int) {
	for at := t.find(p.PID); at != nil; at = t.find(at.parent) {
		line = append(line, at.PID)
	}
	return line
}

// Wait returns nil when a process has ended, or the cause of the context's end.
func (t *Processes) Wait(ctx context.Context, p tmux.Process) error {
	q := t.find(p.PID)
	if q == nil || q.Process != p {
		return nil
	}
	select {
	case <-q.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Signal sends a signal to a process, or returns [tmux.ErrNoProcess]. It does not end the process: the
// function given to Start may do so.
func (t *Processes) Signal(p tmux.Process, sig syscall.Signal) error {
	q := t.find(p.PID)
	if q == nil || q.Process != p {
		return fmt.Errorf("process %d: %w", p.PID, tmux.ErrNoProcess)
	}
	if q.signal != nil {
		q.signal(sig)
	}
	return nil
}
