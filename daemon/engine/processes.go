package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// ProcessTable finds processes, and ends them. Only Wait may take long: the daemon calls the other methods inside
// transactions.
type ProcessTable interface {
	// Find returns the process that has this id now. tmux.ErrNoProcess: no process has it. Any other error: the system
	// can't be asked.
	Find(pid int) (tmux.Process, error)
	// Standing says whether a process is stopped, and whether it reads its terminal.
	Standing(p tmux.Process) Standing
	// Ancestry lists the ids of a process, of the one that started it, and so on; nil: it has ended.
	Ancestry(p tmux.Process) []int
	// Wait returns nil when a process has ended, or the cause of the context's end.
	Wait(ctx context.Context, p tmux.Process) error
	// Signal sends a signal to a process. tmux.ErrNoProcess: it has ended. A later process with the same id gets no
	// signal.
	Signal(p tmux.Process, sig syscall.Signal) error
}

// Standing is how a process stands to its terminal.
type Standing struct {
	Stopped bool // a signal has stopped it, as Ctrl-Z does
	InFront bool // it gets what is typed into its terminal
}

// Senders checks what processes say about themselves.
type Senders interface {
	// Boot names this boot of the system. The start times of processes count from it.
	Boot() string
	// Strange says why the sender from can't be trusted; "": it can. The sender must be of this user and, unless it is inside a sandbox of
	// ours, in the daemon's namespaces. Unless p is zero, the sender must also be p or a descendant of p.
	Strange(from *tmux.Peer, p tmux.Process, inside bool) string
	// Named returns the process that has an id where the process at runs, which may be inside a sandbox; see [tmux.Process.Named].
	Named(at tmux.Process, pid int, start uint64) (tmux.Process, error)
	// Foreign says why a process cannot be an agent of this user, as far as the system tells; "": it can. inside: it may be in a sandbox.
	Foreign(p tmux.Process, inside bool) string
	// ServerAt returns the process that listens on a socket.
	ServerAt(ctx context.Context, socket string) (tmux.Process, error)
}

// Processes are the processes of the machine. Implementations are safe for concurrent use.
type Processes interface {
	ProcessTable
	Senders
}

// system is the machine that the daemon runs on.
type system struct{}

func (system) Find(pid int) (tmux.Process, error)              { return tmux.FindProcess(pid) }
func (system) Ancestry(p tmux.Process) []int                   { return p.Ancestry() }
func (system) Wait(ctx context.Context, p tmux.Process) error  { return p.Wait(ctx) }
func (system) Signal(p tmux.Process, sig syscall.Signal) error { return p.Signal(sig) }
func (system) Named(at tmux.Process, pid int, start uint64) (tmux.Process, error) {
	return at.Named(pid, start)
}
func (system) Boot() string { return tmux.BootID() }
func (system) Standing(p tmux.Process) Standing {
	stopped, inFront := p.Standing()
	return Standing{Stopped: stopped, InFront: inFront}
}

func (system) Strange(from *tmux.Peer, p tmux.Process, inside bool) string {
	if from.UID != os.Geteuid() {
		return fmt.Sprintf("its sender, process %d, is another user's", from.PID)
	}
	if err := from.SharesNamespaces("pid"); err != nil && !inside {
		return "its sender is a stranger: " + err.Error()
	}
	if p.PID != 0 && !from.IsDescendantOf(p.PID) {
		return fmt.Sprintf("its sender, process %d, is no child of process %d, which it names", from.PID, p.PID)
	}
	return ""
}

func (system) Foreign(p tmux.Process, inside bool) string {
	if p.PID == 1 || p.Name() == "systemd" {
		return fmt.Sprintf(NoAgent, p.PID, "it is init")
	}
	if uid, err := p.Owner(); err == nil && uid != os.Geteuid() {
		return fmt.Sprintf(NoAgent, p.PID, "it is another user's")
	}
	if err := p.SharesNamespaces("pid"); err != nil && !inside {
		return err.Error()
	}
	if p.RunsTmux() {
		return fmt.Sprintf(NoAgent, p.PID, "it runs tmux")
	}
	return ""
}

func (system) ServerAt(ctx context.Context, socket string) (tmux.Process, error) {
	peer, err := tmux.ServerAt(ctx, socket)
	return peer.Process, err
}

// Within reports whether a process lives and is pid or a descendant of pid.
func (d *Engine) Within(p tmux.Process, pid int) bool {
	return slices.Contains(d.Processes.Ancestry(p), pid)
}

// Lives reports whether a process has not ended. If the system can't be asked, the process counts as alive.
func (d *Engine) Lives(p tmux.Process) bool {
	now, err := d.Processes.Find(p.PID)
	if err != nil {
		return !errors.Is(err, tmux.ErrNoProcess)
	}
	return now == p
}

// InFront reports whether an agent gets what is typed into its terminal. For an agent whose process is not known the answer
// is yes.
func (d *Engine) InFront(a *daemon.Agent) bool {
	return a.PID == 0 || d.Processes.Standing(a.Process()).InFront
}

// OneShot is a command that runs to its end without a terminal.
type OneShot struct {
	Argv  []string
	Dir   string
	Env   []string // its whole environment
	Stdin []byte
}

// OneShotResult is the result of a command that ended by itself.
type OneShotResult struct {
	Stdout []byte
	Stderr string // the end of its standard error
	Exit   int
}

// NoAgent says why a process can't be an agent.
const NoAgent = "process %d is no agent: %s"
