package sim

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// boot is the id of the boot from which the processes' start times count.
const boot = "simulated"

// processes is the host's process table as a daemon sees it.
type processes struct{ g *daemonRun }

var _ engine.Processes = processes{}

func (p processes) table() *tmuxtest.Processes { return p.g.h.table }

func (p processes) Find(pid int) (tmux.Process, error) { return p.table().Find(pid) }
func (p processes) Ancestry(q tmux.Process) []int      { return p.table().Ancestry(q) }
func (p processes) Standing(q tmux.Process) engine.Standing {
	return engine.Standing{InFront: p.table().Lives(q)}
}

func (p processes) Wait(ctx context.Context, q tmux.Process) error {
	_ = p.table().Wait(ctx, q) // fails only with ctx, whose cause is returned below
	p.g.w.park(&call{own: &p.g.owner, who: daemon.Caller(ctx), what: "Wait " + strconv.Itoa(q.PID)})
	return context.Cause(ctx)
}

func (p processes) Signal(q tmux.Process, sig syscall.Signal) error {
	return does(p.g, context.Background(), typing, fmt.Sprintf("Signal %d %s", q.PID, sig), func() error {
		if p.table().Lives(q) {
			beforeKill(p.g.w, p.g, q.PID, sig.String())
		}
		return p.table().Signal(q, sig)
	})
}

func (processes) Boot() string                                  { return boot }
func (processes) Strange(*tmux.Peer, tmux.Process, bool) string { return "" }
func (processes) Foreign(tmux.Process, bool) string             { return "" }
func (p processes) Named(_ tmux.Process, pid int, _ uint64) (tmux.Process, error) {
	return p.Find(pid)
}
func (p processes) ServerAt(context.Context, string) (tmux.Process, error) {
	return p.Find(p.g.h.term.Server())
}

// terminal is a host's tmux server with the agents in its panes.
type terminal struct {
	*tmuxtest.Fake
	h      *host
	agents map[string]*agent // by pane
	before func(text string) // if set, called before a daemon pastes a text
}

func newTerminal(h *host) *terminal {
	t := &terminal{Fake: tmuxtest.NewFake(), h: h, agents: map[string]*agent{}}
	h.table.Put(t.Server())
	t.OnSpawn = t.spawned
	t.OnInput = func(ref tmux.Ref, in tmuxtest.Input) {
		if a := t.agents[ref.Pane]; a != nil {
			a.typed(in)
		}
	}
	return t
}

// spawned starts an agent in the pane that a daemon has made for it.
func (t *terminal) spawned(spec tmux.Spec, pane tmux.PaneInfo) error {
	if len(spec.Argv) != 3 || spec.Argv[1] != "launch" {
		return fmt.Errorf("the simulation cannot run %q", spec.Argv)
	}
	if old := t.agents[pane.Pane]; old != nil && old.ref == pane.Ref && !old.dead {
		t.h.w.fail("pane %s gets the agent of mark %s while another lives in it", pane.Pane, spec.Mark)
	}
	for _, other := range t.h.w.agentsOf(t.h) {
		if other.file == spec.Argv[2] {
			t.h.w.fail("the agent of %s is started in pane %s, and lives in pane %s", spec.Argv[2], pane.Pane, other.ref.Pane)
		}
	}
	a := newAgent(t.h, pane.Ref, t.Server(), spec.Argv[2], spec.Dir)
	t.Update(pane.Ref, func(info *tmux.PaneInfo) { info.PID = a.proc.PID })
	t.agents[pane.Pane] = a
	return nil
}

// die ends the server with all its agents. The next command starts another server.
func (t *terminal) die() {
	server := t.Server()
	t.h.table.End(tmux.Process{PID: server})
	for _, a := range t.h.w.agentsOf(t.h) {
		if a.ref.ServerPID == server {
			a.signal(syscall.SIGHUP)
		}
	}
	t.Restart()
	t.agents = map[string]*agent{}
	t.h.table.Put(t.Server())
}

// console is the terminal as a daemon sees it.
type console struct {
	g *daemonRun
	t *terminal
}

var _ engine.Terminal = (*console)(nil)

// look carries out a call that only reads.
func look[T any](c *console, ctx context.Context, what string, do func() (T, error)) (T, error) {
	return carry(c.g, ctx, looking, what, do)
}

// change carries out a call that changes something.
func change(c *console, ctx context.Context, what string, do func() error) error {
	if c.g.w.sent != nil {
		c.g.w.sent(what, do)
	}
	return does(c.g, ctx, typing, what, do)
}

func (c *console) Paste(ctx context.Context, ref tmux.Ref, text string, opt tmux.PasteOptions) error {
	return change(c, ctx, fmt.Sprintf("Paste %s %.60q", ref.Pane, text), func() error {
		if c.t.before != nil {
			c.t.before(text)
		}
		beforePaste(c.g.w, c.g, c.t.agents[ref.Pane], ref, text)
		return c.Fake().Paste(context.Background(), ref, text, opt)
	})
}

func (c *console) Fake() *tmuxtest.Fake { return c.t.Fake }

func (c *console) Press(ctx context.Context, ref tmux.Ref, seen tmux.Sight, keys ...tmux.Key) error {
	return change(c, ctx, fmt.Sprintf("Press %s %v", ref.Pane, keys), func() error {
		return c.Fake().Press(context.Background(), ref, seen, keys...)
	})
}

func (c *console) Type(ctx context.Context, ref tmux.Ref, seen tmux.Sight, text string) error {
	return change(c, ctx, fmt.Sprintf("Type %s %.60q", ref.Pane, text), func() error {
		return c.Fake().Type(context.Background(), ref, seen, text)
	})
}

func (c *console) Look(ctx context.Context, ref tmux.Ref) (tmux.View, error) {
	return look(c, ctx, "Look "+ref.Pane, func() (tmux.View, error) { return c.Fake().Look(ctx, ref) })
}

func (c *console) Capture(ctx context.Context, lines int, ansi bool, refs ...tmux.Ref) (map[string]string, error) {
	return look(c, ctx, "Capture", func() (map[string]string, error) { return c.Fake().Capture(ctx, lines, ansi, refs...) })
}

func (c *console) Spawn(ctx context.Context, spec tmux.Spec) (tmux.PaneInfo, error) {
	return carry(c.g, ctx, typing, "Spawn "+spec.Session, func() (tmux.PaneInfo, error) {
		if _, err := os.Stat(spec.Argv[2]); err != nil {
			c.g.w.fail("a daemon makes pane %s without its launch file: %v", spec.Session, err)
		}
		return c.Fake().Spawn(context.Background(), spec)
	})
}

func (c *console) Respawn(ctx context.Context, at tmux.Place, spec tmux.Spec) (tmux.PaneInfo, error) {
	what := "Respawn " + at.Ref.Pane + " " + spec.Session
	if c.g.w.sent != nil {
		c.g.w.sent(what, func() error { _, err := c.Fake().Respawn(context.Background(), at, spec); return err })
	}
	return carry(c.g, ctx, typing, what, func() (tmux.PaneInfo, error) {
		if _, err := os.Stat(spec.Argv[2]); err != nil {
			c.g.w.fail("a daemon takes pane %s for %s without its launch file: %v", at.Ref.Pane, spec.Session, err)
		}
		return c.Fake().Respawn(context.Background(), at, spec)
	})
}

func (c *console) List(ctx context.Context) ([]tmux.PaneInfo, error) {
	return look(c, ctx, "List", func() ([]tmux.PaneInfo, error) { return c.Fake().List(ctx) })
}

func (c *console) Inspect(ctx context.Context, ref tmux.Ref) (tmux.PaneInfo, error) {
	return look(c, ctx, "Inspect "+ref.Pane, func() (tmux.PaneInfo, error) { return c.Fake().Inspect(ctx, ref) })
}

func (c *console) Kill(ctx context.Context, ref tmux.Ref) error { return c.kill(ctx, ref, "") }

func (c *console) KillMarked(ctx context.Context, ref tmux.Ref, mark string) error {
	return c.kill(ctx, ref, mark)
}

func (c *console) kill(ctx context.Context, ref tmux.Ref, mark string) error {
	do := func() error {
		a := c.t.agents[ref.Pane]
		lives := a != nil && a.ref == ref && !a.dead
		if info, err := c.Fake().Inspect(context.Background(), ref); err != nil || mark != "" && info.Mark != mark {
			lives = false
		}
		if lives {
			beforeKill(c.g.w, c.g, a.proc.PID, "pane killed")
		}
		kill := c.Fake().Kill
		if mark != "" {
			kill = func(ctx context.Context, ref tmux.Ref) error { return c.Fake().KillMarked(ctx, ref, mark) }
		}
		err := kill(context.Background(), ref)
		if lives && err == nil {
			a.signal(syscall.SIGHUP)
		}
		return err
	}
	return change(c, ctx, "Kill "+ref.Pane, do)
}

func (c *console) SwitchClients(ctx context.Context, from, to string) error {
	return change(c, ctx, "SwitchClients "+from+" "+to, func() error { return c.Fake().SwitchClients(ctx, from, to) })
}

func (c *console) ShowMessage(ctx context.Context, ref tmux.Ref, text string) (shown int, err error) {
	err = change(c, ctx, "ShowMessage "+ref.Pane, func() error {
		shown, err = c.Fake().ShowMessage(ctx, ref, text)
		return err
	})
	return shown, err
}

func (c *console) ShowLines(ctx context.Context, lines []tmux.Line, always ...tmux.Ref) (shown []tmux.Line, err error) {
	err = change(c, ctx, fmt.Sprintf("ShowLines %d", len(lines)), func() error {
		shown, err = c.Fake().ShowLines(ctx, lines, always...)
		return err
	})
	return shown, err
}

func (c *console) Say(ctx context.Context, ref tmux.Ref, by int64, text string) error {
	return change(c, ctx, "Say "+ref.Pane, func() error { return c.Fake().Say(ctx, ref, by, text) })
}

func (c *console) Unsay(ctx context.Context, ref tmux.Ref, by int64) error {
	return change(c, ctx, "Unsay "+ref.Pane, func() error { return c.Fake().Unsay(ctx, ref, by) })
}
