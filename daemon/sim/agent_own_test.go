package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/actor"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// ownAgent starts the runtime by hand, in a pane with a shell. The daemon learns of the agent only by its hooks.
func (h *host) ownAgent() *agent {
	shell := h.table.Start(h.term.Server(), nil)
	pane := h.term.Add(tmux.PaneInfo{Session: fmt.Sprintf("own-%d", shell.PID), PID: shell.PID, CurrentCommand: "claude"})
	a := newAgent(h, pane.Ref, shell.PID, "", h.cwd)
	a.own = true
	h.term.agents[pane.Pane] = a
	return a
}

// readOwn names the session of an agent that a person started.
func (a *agent) readOwn() {
	a.session, a.name = uuid(a.rng), "own"
	a.w.trace.note(a.owner.name, "is a session of a person's")
}

// backToShell shows the shell in the pane after the agent has ended.
func (a *agent) backToShell() {
	a.h.term.Update(a.ref, func(info *tmux.PaneInfo) { info.CurrentCommand = "bash" })
	a.h.term.SetScreen(a.ref, "$ ")
}

// noteOwnSessions notes the ids of agents that people started, once they have rows.
func (w *world) noteOwnSessions(agents []daemon.Agent) {
	for row := range each(agents) {
		if row.Managed || row.PID == 0 {
			continue
		}
		if row.HasPane() && strings.HasPrefix(row.Note, "it has no pane") {
			w.fail("agent %d has pane %s, but its note is %q", row.ID, *row.Pane, row.Note)
		}
		for _, a := range w.agents {
			if a.own && a.id == 0 && a.h.name == row.Host && a.proc.PID == row.PID {
				a.id = row.ID
				w.trace.note(a.owner.name, "is agent %d by its hooks", a.id)
			}
		}
	}
}

// ownSession has the person start a session by hand, work in it, assign a persona to it and hand it over.
func (p *person) ownSession(h *host) {
	p.wait("begins", 0, 20*time.Second)
	a := h.ownAgent()
	p.w.plan.count("own sessions")
	for i := range 3 {
		if i > 0 || p.w.rng.IntN(2) == 0 {
			a.person(p.newText(), tmux.Enter)
		}
		if p.await("its registration", 30*time.Second, func() bool { return a.id != 0 || a.dead }) {
			break
		}
	}
	if a.id == 0 {
		return
	}
	if assign(p, p.anyHost(), a.id) != nil {
		return
	}
	for range p.w.rng.IntN(3) {
		p.wait("works", 0, 15*time.Second)
		a.person(p.newText(), tmux.Enter)
	}
	if next := p.handOver(a.id); next != 0 {
		p.send(next)
	}
}

// ownEnded: every session that a person started is registered at the end.
func (w *world) ownEnded() {
	for _, a := range w.agents {
		if a.own && !a.dead && a.ready && a.id == 0 && !w.plan.on["hooks lost"] {
			w.fail("a person started process %d, but no daemon has registered its session", a.proc.PID)
		}
	}
}

// compact compacts the agent's context, unless the answer to its PreCompact hook refuses that.
func (a *agent) compact() {
	if answer := a.hook(hooks.PreCompact, actor.Fields{"trigger": "auto", "custom_instructions": nil}); !answer.block {
		a.hook(hooks.SessionStart, a.hooks().SessionStart("compact", 0))
	}
}

// checkCompact: a daemon that refused an agent's compaction has begun or refused its handoff.
func (w *world) checkCompact(agents []daemon.Agent) {
	for a := range each(agents) {
		if a.CompactHook != 0 && a.AutoAskedAt == nil && a.Active() {
			w.fail("a daemon refused the compaction of agent %d, but nobody has handed the agent over", a.ID)
		}
	}
}
