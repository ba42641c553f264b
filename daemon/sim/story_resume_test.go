package sim

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/actor"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/tmux"
)

// startWorked starts an agent that has done a turn, so that its session has a conversation.
func startWorked(p *person, h *host) *agent {
	a := p.agent(h)
	p.promptOnce(a)
	return a
}

// successorsOf returns the agents that go on with the work of an agent.
func successorsOf(p *person, id int64) (ids []int64) {
	agents, _ := p.w.rows()
	for i := range agents {
		if agents[i].PreviousAgentID != nil && *agents[i].PreviousAgentID == id {
			ids = append(ids, agents[i].ID)
		}
	}
	return ids
}

// down ends the tmux server while no daemon runs, and has the next daemon start.
func down(p *person, h *host) {
	p.w.delayFirst(calls("restarts "), func() time.Duration { h.term.die(); return time.Minute })
	p.end(h)
}

// TestResumeAll: two people resume all agents that died with their tmux server. Each session is opened again once. Of an agent whose session
// has no conversation, and of one whose handoff failed with it, it is said why not; one that a person stopped is left alone.
func TestResumeAll(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.resume = false
		p.end(h)
		a, b, stopped, out, mute := startWorked(p, h), startWorked(p, h), startWorked(p, h), startWorked(p, h), p.agent(h)
		p.stopped(h, stopped)
		out.mood.think = time.Hour
		p.request(h, out, daemon.AwaitingDocument)
		h.term.die()
		for _, dead := range []*agent{a, b, out, mute} {
			p.await("their ends", time.Minute, func() bool { return p.row(dead).EndedAt != nil })
		}
		p.reach(out, daemon.Failed)
		var said []string
		all := func(p *person) {
			for _, r := range resumeAll(p, h) {
				if r.Started != nil {
					said = append(said, fmt.Sprint(r.AgentID, " goes on"))
				} else {
					said = append(said, fmt.Sprint(r.AgentID, " ", r.Error.Code))
				}
			}
		}
		over := false
		p.w.employ("another", func(p *person) { all(p); over = true })
		all(p)
		p.poll("the other", func() bool { return over })
		for _, want := range []string{fmt.Sprint(a.id, " goes on"), fmt.Sprint(b.id, " goes on"), fmt.Sprint(mute.id, " conversation_gone"), fmt.Sprint(out.id, " handoff_failed")} {
			if !slices.Contains(said, want) {
				t.Errorf("answers %q, want %q", said, want)
			}
		}
		for id, n := range map[int64]int{a.id: 1, b.id: 1, stopped.id: 0, out.id: 0, mute.id: 0} {
			if next := successorsOf(p, id); len(next) != n {
				t.Errorf("agents %v go on with agent %d, want %d", next, id, n)
			}
		}
	})
}

// TestTurnThatBrokeOff: whoever opens the session of an agent again that died in a turn is told that nobody goes on with that turn, until the
// next prompt. An agent that died at rest is just idle.
func TestTurnThatBrokeOff(t *testing.T) {
	for _, works := range []bool{false, true} {
		storyAs(t, fmt.Sprint("in a turn: ", works), withWorked(func(t *testing.T, p *person, h *host, a *agent) {
			if works {
				a.mood.think = time.Hour
				a.person("a long one", tmux.Enter)
				p.await("its turn", time.Minute, func() bool { return p.row(a).State == daemon.Working })
			}
			a.signal(syscall.SIGKILL)
			p.awaitEnd(a)
			id := p.reopen(h, a.id).ID
			p.poll("its session", func() bool { next := p.w.process(id); return next != nil && next.ready })
			next := p.w.process(id)
			p.await("its rest", time.Minute, func() bool { return p.row(next).State == daemon.Idle })
			note := map[bool]string{true: fmt.Sprintf("its turn broke off when agent %d ended: tell it to go on", a.id)}[works]
			equal(t, "its note is", p.row(next).Note, note)
			p.promptOnce(next)
			if row := p.row(next); row.Note != "" || row.Asked != "some work" {
				t.Errorf("after a prompt its note is %q", row.Note)
			}
		}))
	}
}

// TestSessionThatTheCLIDoesNotFind: the CLI alone knows that a session is lost. The operator is told what to do, and nobody tries again.
func TestSessionThatTheCLIDoesNotFind(t *testing.T) {
	story(t, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
		old := p.w.process(*p.request(h, a, daemon.Completed).SuccessorID)
		p.await("its rest", time.Minute, func() bool { return p.row(old).State == daemon.Idle && p.row(old).WorkStop > 0 })
		p.stopped(h, old)
		p.w.born = func(a *agent) {
			p.w.employEndless("its CLI", func(*person) {
				a.frame.Print(actor.BlockError, "error: no conversation found")
				a.draw()
				a.end("it found no conversation", 1)
			})
		}
		next := p.reopen(h, old.id).ID
		p.await("its end", time.Minute, func() bool { return rowOf(p, next).EndedAt != nil })
		p.w.born = nil
		row := rowOf(p, next)
		told := eventsOf(p, event.AgentEnded)
		if said := word(&told[len(told)-1], "message"); row.EndCode != daemon.EndedLost || !strings.Contains(said, "start anew in "+h.cwd+" with `understudy agent start "+personaSlugs[0]+"`, which is pointed to the persona's last document, ") {
			t.Errorf("it ended by %q; the operator was told %q", *row.EndReason, said)
		}
		wantCode(t, errorOf(resumeAgent(p, h, old.id)), daemon.CodeConversationGone)
	}))
}

// TestDaemonResumesByItself: if the settings say so, a daemon opens the sessions of the agents again that died with the tmux server before its
// start, and tells that with their ends, although it is killed after the first. Agents that die again soon are left to a person. Every run checks
// that each is seen to once.
func TestDaemonResumesByItself(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.resume = true
		p.end(h)
		a, b, crashed, mute := startWorked(p, h), startWorked(p, h), startWorked(p, h), p.agent(h)
		crashed.signal(syscall.SIGKILL)
		p.await("the alert", time.Minute, func() bool { return p.row(crashed).EndedAt != nil && events(p, event.OperatorNotified) > 0 })
		opened := 0
		p.w.inject = func(c *call) fault {
			if isCommit(c, "«agent_resumed»") {
				if opened++; opened == 2 {
					return crashBefore
				}
			}
			return none
		}
		down(p, h)
		p.await("the sessions", 5*time.Minute, func() bool { return events(p, event.AgentResumed) == 2 && len(p.w.agentsOf(h)) == 2 })
		p.wait("looks on", time.Minute, time.Minute)
		first, second := successorsOf(p, a.id), successorsOf(p, b.id)
		if len(first) != 1 || len(second) != 1 || len(successorsOf(p, crashed.id))+len(successorsOf(p, mute.id)) > 0 || opened != 3 {
			t.Errorf("%v and %v go on, %v, %v", first, second, successorsOf(p, crashed.id), successorsOf(p, mute.id))
		}
		told := eventsOf(p, event.OperatorNotified)
		if said := word(&told[len(told)-1], "message"); !strings.Contains(said, fmt.Sprintf("The daemon has opened 2 sessions again: agent %d (", a.id)) || !strings.Contains(said, fmt.Sprintf("Start anew, for want of a session: agent %d,", mute.id)) {
			t.Errorf("the operator was told %q", said)
		}
		down(p, h)
		p.await("the word that they are left to a person", 5*time.Minute, func() bool { return events(p, event.AgentNotResumed) >= 2 })
		for _, e := range eventsOf(p, event.AgentNotResumed) {
			if said := word(&e, "message"); slices.Contains([]int64{first[0], second[0]}, *e.AgentID) && !strings.Contains(said, "after its session was opened again, so the daemon does not do that by itself once more") {
				t.Errorf("of agent %d was told %q", *e.AgentID, said)
			}
		}
		if next := successorsOf(p, first[0]); len(next) > 0 {
			t.Errorf("%v go on with agent %d, which died soon after its resumption", next, first[0])
		}
		p.reopen(h, first[0])
	})
}

// TestLostDirectoryEndsNobody: the directory of an agent is gone, before a handoff is requested or after it. Nobody is ended, and no session is
// opened again, until it is back.
func TestLostDirectoryEndsNobody(t *testing.T) {
	story(t, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
		away, back := func() { rename(t, h.cwd, h.cwd+".away") }, func() { rename(t, h.cwd+".away", h.cwd) }
		away()
		wantCode(t, handOff(p, h, a.id, handoffs.HandoffRequest{Force: true}), daemon.CodeBadDirectory)
		back()
		a.extra = func(context.Context) bool { away(); return true }
		failed := p.request(h, a, daemon.Failed)
		if e := failed.Error; e.Phase != daemon.ShuttingDown || e.Code != daemon.CodeBadDirectory || !strings.Contains(e.Message, fmt.Sprintf("Agent %d was not ended", a.id)) {
			t.Errorf("it failed with %+v", e)
		}
		wantCode(t, p.retry(&failed), daemon.CodeBadDirectory)
		if row := p.row(a); !row.Active() || row.StopAskedAt != nil {
			t.Errorf("the agent is %s", row.State)
		}
		back()
		p.retryToEnd(a)
		next := p.w.process(*p.handoffs(a.id)[0].SuccessorID)
		p.stopped(h, next)
		away()
		wantCode(t, errorOf(resumeAgent(p, h, next.id)), daemon.CodeBadDirectory)
		back()
		p.reopen(h, next.id)
	}))
}

// TestBranchOfIdleAgents: an agent shows the branch of its directory, also one that a person checks out while it is idle.
func TestBranchOfIdleAgents(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.ok(os.MkdirAll(h.cwd+"/.git", 0o700))
		a := p.agent(h)
		for _, branch := range []string{"main", "fix/parcels"} {
			p.w.ok(os.WriteFile(h.cwd+"/.git/HEAD", []byte("ref: refs/heads/"+branch+"\n"), 0o600))
			p.await("its branch", 7*time.Second, func() bool { return p.row(a).Branch == branch && p.row(a).Repository == "work" })
		}
	})
}
