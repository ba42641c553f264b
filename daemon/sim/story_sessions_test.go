package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/actor"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// launched returns the text with which an agent was launched.
func launched(p *person, a *agent) string { return argument(p, a, "--append-system-prompt-file") }

// argument returns the file that is an argument of an agent's command line.
func argument(p *person, a *agent, name string) string {
	argv := must(launchFile(a.file)).Argv
	i := slices.Index(argv, name)
	if i < 0 {
		p.w.fail("agent %d is launched by %q", a.id, argv)
		return ""
	}
	return mustRead(argv[i+1])
}

// successor returns the successor of an agent's handoff, once it is idle.
func successor(p *person, a *agent) *agent {
	next := p.w.process(*p.reach(a, daemon.Completed).SuccessorID)
	p.await("its first turn", time.Minute, func() bool { return p.row(next).State == daemon.Idle })
	return next
}

// TestRepeatedSessionStartsInjectNothingTwice: sessions begin again in the same pane. The daemon gives the agent nothing twice, and follows it
// through its session ids.
func TestRepeatedSessionStartsInjectNothingTwice(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		p.request(h, a, daemon.Completed)
		next := successor(p, a)
		first, given := next.session, len(next.given)
		begin := func(source, session string) {
			next.session = session
			next.register("idle")
			next.hook(hooks.SessionStart, next.hooks().SessionStart(source, contextTokens))
			p.await("the session after "+source, time.Minute, func() bool { return *p.row(next).SessionID == session })
			p.wait("looks on", 10*time.Second, 10*time.Second)
		}
		begin("compact", first)
		begin("clear", "0220771c-41d7-462a-90eb-109748196fb5")
		begin("resume", first)
		message(p, h, next, "carry on")
		p.await("the message", time.Minute, func() bool { return slices.Contains(next.given, "carry on") })
		equal(t, "texts that it was given", len(next.given), given+1)
		equal(t, "its session changed … times", events(p, event.AgentSessionChanged), 2)
		equal(t, "skills for 2 agents", events(p, event.AgentSkillInjected), 2)
	}))
}

// TestStepsOfAHandoff: the log has each step of a handoff, in order. Until the agent is asked to exit, it is given the instruction alone; in mode
// generate nothing, and its transcript stays as it was.
func TestStepsOfAHandoff(t *testing.T) {
	const end = "verifying created recorded shutting_down spawning awaiting_registration injecting_skill briefing completed"
	for mode, steps := range map[daemon.Mode]string{daemon.ModeAgent: "started instructing awaiting_document " + end, daemon.ModeGenerate: "started generating " + end} {
		storyAs(t, string(mode), withWorked(func(t *testing.T, p *person, h *host, a *agent) {
			before := mustRead(a.transcript())
			p.requestHandoff(h, a, mode)
			done := p.reach(a, daemon.Completed)
			var got []string
			for _, e := range log(p.w) {
				step, ok := strings.CutPrefix(string(e.Type), "handoff_")
				if ok && step != "waiting" && step != "read" { // the successor reads meanwhile
					got = append(got, step)
				}
			}
			equal(t, "the steps were", strings.Join(got, " "), steps)
			list := deliveries(p.w, a.id)
			if after := mustRead(a.transcript()); mode == daemon.ModeGenerate && (len(list) != 1 || list[0].Kind != daemon.KindExit || after != before) {
				t.Errorf("it was given %+v, its transcript has grown by %q", list, strings.TrimPrefix(after, before))
			}
			if !strings.Contains(mustRead(done.FilePath), "## Next Agent Context") || done.RecordedAt == nil || done.Structured == nil {
				t.Errorf("handoff %+v", done)
			}
			names(t, "the injection prompt", *done.InjectionPrompt, done.FilePath, *done.ContextPath, done.Ref)
		}))
	}
}

// TestSuccessorsKnowThreeDocuments: a successor is launched with where the last three documents of its persona are, the newest first.
func TestSuccessorsKnowThreeDocuments(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		var documents []string
		for range 4 {
			p.request(h, a, daemon.Completed)
			next := successor(p, a)
			documents = append([]string{p.handoffs(a.id)[0].FilePath}, documents...)
			last := documents[:min(3, len(documents))]
			text := strings.TrimSpace(launched(p, next))
			if want := "\n\n- " + strings.Join(last, "\n- "); !strings.HasSuffix(text, want) || strings.Count(text, "/handoffs/") != len(last) {
				t.Errorf("the text of agent %d does not end with %q:\n%s", next.id, want, text)
			}
			a = next
		}
	}))
}

// TestRenamedPersona: the session of an agent goes on under the new name of its persona, and a new agent is pointed to the documents
// that the persona had under the old one. A persona that is played keeps its name.
func TestRenamedPersona(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		p.request(h, a, daemon.Completed)
		old := successor(p, a)
		p.promptOnce(old)
		const to = "developer-connie-1"
		rename := func() error {
			return p.ask(h, "rename", func(ctx context.Context, d *house.House) error {
				return errorOf(d.Marks.RenamePersona(ctx, personaSlugs[0], to))
			})
		}
		if rename() == nil {
			t.Fatal("a persona that is played was renamed")
		}
		p.stopped(h, old)
		p.w.ok(rename())
		document := filepath.Join(h.dir.Handoffs(to), filepath.Base(p.handoffs(a.id)[0].FilePath))
		if mustRead(document) == "" {
			t.Errorf("no document at %s", document)
		}
		resumed := p.reopen(h, old.id)
		fresh, err := startWith(p, h, agents.NewAgent{Persona: to, Runtime: "claude"})
		p.w.ok(err)
		for _, id := range []int64{resumed.ID, fresh} {
			p.await("the process", time.Minute, func() bool { return p.w.process(id) != nil && p.w.process(id).ready })
			b := p.w.process(id)
			row := p.row(b)
			if text := launched(p, b); row.PersonaSlug() != to || !strings.HasPrefix(text, "# You play the persona "+to+"\n") || !strings.Contains(text, "\n- "+document) {
				t.Errorf("agent %d plays %q and is launched with\n%s", id, row.PersonaSlug(), text)
			}
		}
	}))
}

// TestLineOfAnAttachedPane: who looks at an agent's pane sees who it is and what it does. Nothing is noted on a pane at which nobody looks,
// until somebody is about to.
func TestLineOfAnAttachedPane(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a, b := p.agent(h), p.agent(h)
		h.term.LookAt(a.ref)
		wantLine := func(of *agent, who, state string, tone tmux.Tone) {
			p.await("the line "+state, time.Minute, func() bool {
				l := h.term.Line(of.ref)
				return l.Who == who && l.State == state && l.Tone == tone
			})
		}
		wantLine(a, "1 "+personaSlugs[0], "idle", tmux.Plain)
		a.mood.think = time.Minute
		a.person("Find out why", tmux.Enter)
		wantLine(a, "1 "+personaSlugs[0], "works", tmux.Working)
		equal(t, fmt.Sprint("nobody looks at agent ", b.id, ", and its pane has"), h.term.Line(b.ref), tmux.Line{})
		p.w.ok(p.ask(h, "attach", func(ctx context.Context, d *house.House) error { return errorOf(d.Daemon.Screen(ctx, b.id, false)) }))
		wantLine(b, "2 "+b.name+" · "+personaSlugs[0], "idle", tmux.Plain)
	})
}

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
			next := awaitIdle(p, p.reopen(h, a.id).ID)
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
