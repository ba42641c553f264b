package stories

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/opencode/opencodetest"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// computer is a computer in memory: its tmux server, its processes, and the daemon that serves on it. Its files are
// real.
type computer struct {
	t     testing.TB
	dir   data.Dir
	base  *base
	table *tmuxtest.Processes
	term  *terminal

	opencode *opencodetest.Machine

	running sync.WaitGroup // the goroutines of the processes

	mu       sync.Mutex
	ports    int          // how many were given away
	up       *servingHere // nil: no daemon listens
	programs map[*program]bool
}

func newComputer(t testing.TB, dir data.Dir, b *base) *computer {
	m := &computer{t: t, dir: dir, base: b, table: tmuxtest.NewProcesses(), programs: map[*program]bool{}, opencode: opencodetest.New()}
	m.term = &terminal{Fake: tmuxtest.NewFake(), m: m, inPanes: map[string]*program{}}
	m.table.Put(m.term.Server())
	m.term.OnSpawn, m.term.OnInput = m.term.spawned, m.term.typed
	return m
}

// killAll kills every program that runs.
func (m *computer) killAll() {
	m.mu.Lock()
	left := m.programs
	m.programs = nil // From now on no program starts.
	m.mu.Unlock()
	for p := range left {
		p.signal(syscall.SIGKILL)
	}
	m.running.Wait()
}

// freePort returns a port that nobody has.
func (m *computer) freePort() (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ports++
	return 20_000 + m.ports, nil
}

func (m *computer) openTerminal(string) (engine.Terminal, error) { return m.term, nil }

type terminal struct {
	*tmuxtest.Fake
	m *computer

	mu      sync.Mutex
	inPanes map[string]*program
}

var _ engine.Terminal = (*terminal)(nil)

// spawned runs the agent that the daemon starts in a pane.
func (t *terminal) spawned(spec tmux.Spec, pane tmux.PaneInfo) error {
	if len(spec.Argv) != 3 || spec.Argv[1] != "launch" {
		return fmt.Errorf("nobody knows how to run %q", spec.Argv)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.m.program(t.Server())
	p.pane, p.dir = pane, spec.Dir
	p.ended = func(code int) { t.Exit(pane.Ref, code) }
	t.inPanes[pane.Pane] = p
	t.Update(pane.Ref, func(info *tmux.PaneInfo) { info.PID = p.PID })
	p.start(func(ctx context.Context) int { return p.launch(ctx, spec.Argv[2]) })
	return nil
}

func (t *terminal) in(ref tmux.Ref) *program {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.inPanes[ref.Pane]; p != nil && p.pane.Ref == ref {
		return p
	}
	return nil
}

// typed passes typed input to the program in the pane. If the program never reads, input that does not fit is lost,
// as in a terminal.
func (t *terminal) typed(ref tmux.Ref, in tmuxtest.Input) {
	text := "\x1b[200~" + in.Text + "\x1b[201~"
	if in.Key != 0 {
		text = keyBytes[in.Key]
	}
	if p := t.in(ref); p != nil {
		select {
		case p.keys <- []byte(text):
		default:
		}
	}
}

var keyBytes = map[tmux.Key]string{
	tmux.Enter: "\r", tmux.Escape: "\x1b", tmux.CtrlC: "\x03", tmux.CtrlS: "\x13", tmux.CtrlU: "\x15", tmux.CtrlD: "\x04",
	tmux.Up: "\x1b[A", tmux.Down: "\x1b[B", tmux.Backspace: "\x7f",
}

// Kill removes a pane and sends SIGHUP to the program in it.
func (t *terminal) Kill(ctx context.Context, ref tmux.Ref) error {
	p := t.in(ref)
	err := t.Fake.Kill(ctx, ref)
	if p != nil && err == nil {
		p.signal(syscall.SIGHUP)
	}
	return err
}

// KillMarked is Kill for a pane that has the mark.
func (t *terminal) KillMarked(ctx context.Context, ref tmux.Ref, mark string) error {
	if info, err := t.Inspect(ctx, ref); err != nil || info.Mark != mark {
		return nil
	}
	return t.Kill(ctx, ref)
}

// die ends the server and every program in it. The next command starts another server.
func (t *terminal) die() {
	t.mu.Lock()
	left := t.inPanes
	t.inPanes = map[string]*program{}
	t.mu.Unlock()
	t.m.table.End(tmux.Process{PID: t.Server()})
	t.Restart()
	t.m.table.Put(t.Server())
	for _, p := range left {
		p.signal(syscall.SIGHUP)
	}
}

// processTable is what a daemon knows of the machine's processes.
type processTable struct {
	*tmuxtest.Processes
	term *terminal
}

var _ engine.Processes = processTable{}

// boot names the boot from which the start times of processes in memory count.
const boot = "in memory"

func (p processTable) Standing(q tmux.Process) engine.Standing {
	return engine.Standing{InFront: p.Lives(q)}
}
func (processTable) Boot() string                            { return boot }
func (processTable) Strange(*tmux.Peer, tmux.Process) string { return "" }
func (processTable) Foreign(tmux.Process) string             { return "" }
func (p processTable) ServerAt(context.Context, string) (tmux.Process, error) {
	return p.Find(p.term.Server())
}
