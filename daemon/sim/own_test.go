package sim

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// ownAgent starts the runtime by hand, in a pane in which a shell runs. The daemon knows of it by its hooks alone.
func (h *host) ownAgent() *agent {
	shell := h.table.Start(h.term.Server(), nil)
	pane := h.term.Add(tmux.PaneInfo{Session: fmt.Sprintf("own-%d", shell.PID), PID: shell.PID, CurrentCommand: "claude"})
	a := newAgent(h, pane.Ref, shell.PID, "")
	a.own = true
	h.term.agents[pane.Pane] = a
	return a
}

// readOwn is what a session has whose person has started it.
func (a *agent) readOwn() {
	a.session, a.name = uuid(a.rng), "own"
	a.w.trace.note(a.owner.name, "is a session of a person's")
}

// backToShell is what its pane shows when it has ended.
func (a *agent) backToShell() {
	a.h.term.Update(a.ref, func(info *tmux.PaneInfo) { info.CurrentCommand = "bash" })
	a.h.term.SetScreen(a.ref, "$ ")
}

// known notes which rows are those of sessions that people have started.
func (w *world) known(agents []daemon.Agent) {
	for i := range agents {
		row := &agents[i]
		if row.Managed || row.PID == 0 {
			continue
		}
		if row.HasPane() && strings.HasPrefix(row.Note, "it has no pane") {
			w.fail("agent %d has pane %s, and its note is %q", row.ID, *row.Pane, row.Note)
		}
		for _, a := range w.agents {
			if a.own && a.id == 0 && a.h.name == row.Host && a.proc.PID == row.PID {
				a.id = row.ID
				w.trace.note(a.owner.name, "is agent %d by its hooks", a.id)
			}
		}
	}
}

// work is somebody who starts a session themselves, works in it, gives it a persona and hands it over.
func (p *person) work(h *host) {
	p.wait("begins", 0, 20*time.Second)
	a := h.ownAgent()
	p.w.plan.count("own sessions")
	for i := range 3 {
		if i > 0 || p.w.rng.IntN(2) == 0 {
			a.person(p.words(), tmux.Enter)
		}
		if p.await("its registration", 30*time.Second, func() bool { return a.id != 0 || a.dead }) {
			break
		}
	}
	if a.id == 0 {
		return
	}
	if p.ask(p.somewhere(), fmt.Sprintf("assign a persona to agent %d", a.id), func(ctx context.Context, d *daemon.Daemon) error {
		_, err := d.AssignPersona(ctx, a.id, personaSlugs[0])
		return err
	}) != nil {
		return
	}
	for range p.w.rng.IntN(3) {
		p.wait("works", 0, 15*time.Second)
		a.person(p.words(), tmux.Enter)
	}
	if next := p.handOver(a.id); next != 0 {
		p.send(next)
	}
}

// ownEnded holds what must be true at the end of sessions that people have started.
func (w *world) ownEnded() {
	for _, a := range w.agents {
		if a.own && !a.dead && a.ready && a.id == 0 && !w.plan.on["hooks lost"] {
			w.fail("process %d is a session of a person's, and nobody has registered it", a.proc.PID)
		}
	}
}

// compact is what the runtime does when its context is full: it asks its hook, which may refuse.
func (a *agent) compact() {
	if answer := a.hook(hooks.PreCompact, a.hooks().PreCompact("auto", "")); !answer.block {
		a.hook(hooks.SessionStart, a.hooks().SessionStart("compact", 0))
	}
}

// checkCompact: an agent whose compaction was refused is handed over, or somebody was told why not.
func (w *world) checkCompact(agents []daemon.Agent) {
	for i := range agents {
		if a := &agents[i]; a.CompactHook != 0 && a.AutoAskedAt == nil && a.Active() {
			w.fail("agent %d was not let compact its context, and nobody has handed it over", a.ID)
		}
	}
}
