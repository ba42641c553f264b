package sim

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// moves has the model move its session to another directory, or back, as Claude Code's EnterWorktree and ExitWorktree do.
func (a *agent) moves() {
	if a.cli != claudeCLI || a.mood.moves == 0 || !a.odd("the session moves", a.mood.moves) {
		return
	}
	dir := a.begun
	if a.dir == a.begun {
		dir = filepath.Join(a.h.cwd, fmt.Sprintf("tree-%d", a.rng.IntN(3)))
	}
	worksIn(a, dir)
	a.register("busy")
}

// worksIn makes a directory, and takes the session there.
func worksIn(a *agent, dir string) {
	a.w.ok(os.MkdirAll(dir, 0o700))
	a.moveTo(dir)
	a.worked = dir
}

// MoveTo takes the session and its transcript to a directory. Before a SessionEnd the CLI goes back in the same way.
func (a *agent) moveTo(dir string) {
	if dir == a.dir {
		return
	}
	from := a.transcript()
	a.dir = dir
	to := filepath.Join(a.h.config, "projects", strings.ReplaceAll(dir, "/", "-"), a.session+".jsonl")
	_ = os.MkdirAll(filepath.Dir(to), 0o700)
	_ = os.Rename(from, to) // it fails if there is no transcript yet
	a.w.trace.note(a.owner.name, "moves to %s", dir)
}

// followed is where the registry told that the session of an agent works, after a hook.
type followed struct {
	hook int64
	dir  string
}

// noteFollowed notes that a daemon has followed the registry to where the session of an agent works, if the registry tells that.
func (w *world) noteFollowed(c *daemon.Change) {
	for _, e := range c.Events {
		if e.Type != event.AgentMoved || e.AgentID == nil {
			continue
		}
		for _, a := range c.Agents {
			if p := w.newestProcess(a.ID); a.ID == *e.AgentID && p != nil && p.dir == a.Cwd {
				w.followed[a.ID] = followed{a.LastHook, a.Cwd}
			}
		}
	}
}

// checkPlaces checks that each agent is where the last hook of its session has told, or the registry after that hook, and that a successor that began after its end was
// started there, unless a hook came after the end.
func (w *world) checkPlaces(agents []daemon.Agent) {
	type part struct { // of a session that is opened again, each agent has a part
		agent   int64
		session string
	}
	told, by := map[part]string{}, map[part]int64{}
	last := int64(0)
	for i := range agents {
		last = max(last, agents[i].LastHook)
	}
	for id := int64(1); id <= last; id++ {
		hook, err := w.lent.StoredHook(ctx(), id)
		if err != nil {
			continue // its transaction has failed
		}
		if p, err := hooks.Parse(hook.Event, hook.Body); err == nil && (p.Event != hooks.SessionEnd || p.Reason == "other") && p.AgentID == "" && p.CWD != "" {
			of := part{w.hookOf[id], p.SessionID}
			told[of], by[of] = p.CWD, id
		}
	}
	byID := map[int64]*daemon.Agent{}
	for i := range agents {
		byID[agents[i].ID] = &agents[i]
	}
	for a := range each(agents) {
		if a.Runtime == claudeCLI.rt.Name && a.SessionID != nil && a.RegisteredAt != nil {
			of := part{a.ID, *a.SessionID}
			dir := told[of]
			if f := w.followed[a.ID]; f.hook >= by[of] {
				dir = cmp.Or(f.dir, dir)
			}
			if dir != "" && dir != a.Cwd && !w.registered(a) {
				w.fail("agent %d is in %s by its row, it was told to be in %s last", a.ID, a.Cwd, dir)
			}
		}
		if a.PreviousAgentID == nil {
			continue
		}
		if prev, begun := byID[*a.PreviousAgentID], a.Cwd; prev != nil {
			if a.StartCwd != "" {
				begun = a.StartCwd
			}
			if w.behind[a.ID] && begun != prev.Cwd && !w.late[prev.ID] {
				w.fail("agent %d began in %s, its predecessor %d worked in %s", a.ID, begun, prev.ID, prev.Cwd)
			}
		}
	}
}

// noteBehind notes that a successor is made after the end of its predecessor. Their times do not tell that, for the clock steps.
func (w *world) noteBehind(c *daemon.Change) {
	if c.NewAgent == nil || c.NewAgent.PreviousAgentID == nil {
		return
	}
	if prev, err := w.lent.Agent(ctx(), *c.NewAgent.PreviousAgentID); err == nil && !prev.Active() {
		w.behind[c.NewAgent.ID] = true
	}
}

// registered reports whether the agent is where the registry told: a hook that tells of a move may come late or never.
func (w *world) registered(a *daemon.Agent) bool {
	p := w.newestProcess(a.ID)
	return p != nil && p.worked == a.Cwd
}

// TestMoveThatOnlyTheRegistryTold: the hooks tell that a session has moved, the registry alone that it went back, and nothing that it moved once
// more before it died. The row is where the registry told, as the check of every run has it.
func TestMoveThatOnlyTheRegistryTold(t *testing.T) {
	story(t, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
		for _, to := range []string{"tree-0", ".", "tree-1"} {
			worksIn(a, filepath.Join(h.cwd, to))
			switch to {
			case "tree-0":
				p.promptOnce(a)
				p.poll("the hook's move", func() bool { return p.row(a).Cwd == a.worked })
			case ".":
				a.register("idle")
				p.poll("the registry's move", func() bool { return p.row(a).Cwd == a.worked })
			}
		}
		a.end("for no reason", 1)
		p.poll("its end", func() bool { row := p.row(a); return !row.Active() })
		equal(t, "the agent is in", p.row(a).Cwd, h.cwd)
	}))
}

// TestExitOfASessionThatMoved: an agent takes a prompt off its queue after it has written the document of a handoff. The prompt's hook came
// before the instruction, so the transcript alone shows that this was work. Then a person moves the session, and the transcript with it. The
// handoff goes on waiting for a person. Every run checks that no agent is ended with work that no document mentions.
func TestExitOfASessionThatMoved(t *testing.T) {
	story(t, with(func(_ *testing.T, p *person, h *host, a *agent) {
		a.mood.think = 10 * time.Second
		a.person("some work", tmux.Enter)
		awaitTurn(p, a)
		a.person("one more thing", tmux.Enter)
		p.wait("looks on", 2*time.Second, 2*time.Second)
		p.requestHandoff(h, a, "")
		p.awaitQuestion(a, 5*time.Minute)
		worksIn(a, filepath.Join(h.cwd, "tree-0"))
		p.wait("reads", 3*time.Second, 3*time.Second)
		a.register("idle") // later than the CLI
		p.wait("reads on", 5*time.Second, 5*time.Second)
		p.retryToEnd(a)
	}))
}

// TestExitBehindAnOutage: a person clears an agent's session and gives it work, while the database is away. The daemon is slow to apply the
// hooks that tell of it. No handoff ends the agent before that. Every run checks that no agent is ended with such work.
func TestExitBehindAnOutage(t *testing.T) {
	story(t, withWorked(func(_ *testing.T, p *person, h *host, a *agent) {
		a.mood.think = 0
		p.w.afterFirst(func(what string) bool { return strings.Contains(what, "→ recorded") }, func() {
			p.w.plan.away[h] = time.Now().Add(30 * time.Second)
			h.noteAbsence(p.w.plan.away[h])
			a.session = uuid(a.rng)
			a.register("idle")
			a.person("one more thing", tmux.Enter)
		})
		p.requestHandoff(h, a, "")
		p.w.delayEach(5*time.Second, func(c *call) bool { return c.who == "spool" })
		endsAfterAQuestion(p, a)
	}))
}
