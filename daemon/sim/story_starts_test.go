package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// TestFirstTextIsHeld: another hook of the session's start holds the first text for 50 s, and somebody retries at once whatever fails.
// The agent gets the text once. Every run checks that a handoff's texts are taken once.
func TestFirstTextIsHeld(t *testing.T) {
	const dialogOver, unread = "a dialog opens over it", "its pane cannot be read when ack_timeout ends"
	for n, name := range []string{"nothing else", dialogOver, unread, "nothing else", dialogOver, unread} {
		storyAs(t, name, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
			p.w.employEndless("somebody in a hurry", func(p *person) { p.hurry() })
			p.w.born = func(next *agent) { next.mood.held, next.heldFor, next.mute = 1, 50*time.Second, n < 3 }
			p.request(h, a, daemon.Briefing)
			next := p.w.process(*p.handoffs(a.id)[0].SuccessorID)
			p.poll("the text", func() bool { return len(next.pending) > 0 })
			switch name {
			case unread:
				ends := time.Now().Add(settings().Handoff.AckTimeout)
				p.w.failEach(failed, func(c *call) bool {
					return time.Until(ends).Abs() < 3*time.Second && strings.HasPrefix(c.what, "Look ")
				})
			case dialogOver:
				p.w.employEndless("chance", func(*person) { asksFeedback(next, "over a text", "") })
				p.wait("reads", 3*time.Second, 3*time.Second)
				next.dialog.give(1)
			}
			done := p.reach(a, daemon.Completed)
			p.wait("looks on", time.Minute, time.Minute)
			if n := p.w.takes[takeKey(next.id, done.Ref)]; n != 1 || !next.ready {
				t.Errorf("the successor took its prompt %d times", n)
			}
		}))
	}
}

// TestSubmittedBelowADialogThatIsOver: a dialog opens over the first text of a session before the daemon has pressed Enter. A person closes the
// dialog and submits the text, which the hooks of the session's start hold. The screen shows that, and the text is not typed again. Every run
// checks that.
func TestSubmittedBelowADialogThatIsOver(t *testing.T) {
	story(t, func(_ *testing.T, p *person, h *host) {
		p.w.born = func(a *agent) { a.mood.held, a.heldFor, a.mood.hands = 1, 50*time.Second, time.Millisecond }
		a := p.agent(h)
		p.w.employEndless("chance", func(p *person) {
			p.poll("the text", func() bool { return a.composer.Text != "" })
			asksFeedback(a, "over a text", "")
		})
		closed := false
		p.w.delayEach(time.Second, func(c *call) bool {
			return strings.HasPrefix(c.what, "Look ") && len(a.inputs)+len(a.composer.Text) > 0 && (closed || a.dialog == nil)
		}) // no look shows the text without the dialog
		p.send(a.id)
		p.poll("the dialog", func() bool { return a.dialog != nil })
		p.wait("reads", 3*time.Second, 3*time.Second)
		closed = true
		a.dialog.give(1)
		p.poll("its end", func() bool { return a.dialog == nil })
		a.person(" and the barn", tmux.Enter)
		p.await("the end of the turn", time.Minute, func() bool { return p.row(a).WorkStop > 0 })
	})
}

// TestStepPromptIsHeld: the same for the prompt of a step, also if a person has answered a dialog before the session of a CLI that does not
// show that it holds a prompt, and has sent a message. Every run checks that the agent of a step gets its prompt once.
func TestStepPromptIsHeld(t *testing.T) {
	for _, mute := range []bool{false, true} {
		storyAs(t, fmt.Sprint("unseen: ", mute), func(_ *testing.T, p *person, h *host) {
			var a *agent
			p.w.born = func(born *agent) { a, born.mood.held, born.heldFor, born.mute = born, 1, 50*time.Second, mute }
			id := p.startPipeline(h, "one")
			if mute {
				p.poll("its session", func() bool { return a != nil && a.id > 0 && p.row(a).RegisteredAt != nil })
				p.change(a.id, func(row *daemon.Agent) { row.NoteAnswered(h.now()) })
				p.send(a.id)
			}
			p.reachStatus(id, daemon.PipelineDone)
		})
	}
}

// TestMoveThatIsHeardLate: a session moves and its process ends before the daemon could store the hooks that tell of the move. The agent is
// opened again where it worked. Every run checks the place.
func TestMoveThatIsHeardLate(t *testing.T) {
	story(t, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
		ended := false
		p.w.failEach(failed, func(c *call) bool { return !ended && strings.HasPrefix(c.what, "RecordHook") }) // no hook reaches the daemon before the end is committed
		p.w.after = func(what string) { ended = ended || strings.Contains(what, "ended") }
		a.extra = func(context.Context) bool {
			worksIn(a, filepath.Join(h.cwd, "tree-0"))
			return true
		}
		a.person("go on elsewhere", tmux.Enter)
		p.await("the Stop", time.Minute, func() bool { return len(a.answers) > 1 })
		a.end("killed", 137)
		a.worked = ""
		p.await("its end", time.Minute, func() bool { row := p.row(a); return !row.Active() })
		p.poll("its place", func() bool { return strings.HasSuffix(p.row(a).Cwd, "tree-0") })
	}))
}

// TestRefusedTextIsClearedAfterALook: another hook refuses a message, and no look at the pane succeeds for a moment. The text is taken out
// of the composer all the same, so that what a person types is not glued behind it.
func TestRefusedTextIsClearedAfterALook(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		a.refusing = true
		var since time.Time
		p.w.inject = func(c *call) fault {
			if list := deliveries(p.w, a.id); !strings.HasPrefix(c.what, "Look ") || a.composer.Text == "" || len(list) == 0 || list[0].Heard == 0 {
				return none
			}
			if since.IsZero() {
				since = time.Now()
			}
			if time.Since(since) < 500*time.Millisecond {
				return failed
			}
			return none
		}
		p.send(a.id)
		verdict(p, a)
		p.wait("looks on", 2*time.Second, 2*time.Second)
		if a.composer.Text != "" || since.IsZero() {
			t.Errorf("the composer has %q; a look has failed: %v", a.composer.Text, !since.IsZero())
		}
	}))
}

// awaitRefusal waits until an agent's hook has refused a prompt.
func awaitRefusal(p *person) {
	p.poll("the refusal", func() bool { return traced(p.w, "refuses ") })
}

// traced reports whether the trace has something that begins with a text.
func traced(w *world, what string) bool {
	return slices.ContainsFunc(w.trace.lines, func(l line) bool { return strings.HasPrefix(l.what, what) })
}

// TestRefusedTextIsSubmittedWithMore: another hook refuses an instruction. Before the daemon has taken the text out of the composer, a person has
// typed a prompt behind it and has submitted both; they wait for a turn. The refusal is about the first attempt.
func TestRefusedTextIsSubmittedWithMore(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		a.refusing = true
		p.w.employEndless("somebody who types", func(p *person) {
			awaitRefusal(p)
			a.refusing = false
			text := a.composer.Take()
			a.submit("Look at the well.")
			a.submit(text + " And look at the roof.")
		})
		p.requestHandoff(h, a, "")
		if d := verdict(p, a); d.Verdict == nil || *d.Verdict != daemon.Submitted {
			t.Errorf("the instruction is %+v", d)
		}
		p.awaitQuestion(a, 10*time.Minute) // what the person typed
		p.retryToEnd(a)
	}))
}

// TestRefusedPromptOfAnAgentThatEnds: another hook refuses a message, and the agent is killed before the daemon has read of that. The
// message is not submitted, and the operator is told. Every run checks both.
func TestRefusedPromptOfAnAgentThatEnds(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		a.refusing = true
		p.send(a.id)
		awaitRefusal(p)
		h.daemon.frozen = time.Now().Add(5 * time.Second)
		a.end("killed", 137)
		p.await("its end", time.Minute, func() bool { row := p.row(a); return !row.Active() })
		if d := verdict(p, a); *d.Verdict != daemon.NotSubmitted || !strings.Contains(d.Evidence, "the gate is closed") {
			t.Errorf("the message is %s: %s", *d.Verdict, d.Evidence)
		}
	}))
}

// TestRefusalOfAnEarlierAgent: another hook refuses a prompt, and the agent is stopped. Its session is opened again, and the clock is set back to before
// the refusal. That is none of the new agent's.
func TestRefusalOfAnEarlierAgent(t *testing.T) {
	story(t, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
		a.refusing = true
		a.person("one more thing", tmux.Enter)
		awaitRefusal(p)
		p.stopped(h, a)
		p.w.born = func(*agent) { h.setClock(-30 * time.Second) }
		next := awaitIdle(p, p.reopen(h, a.id).ID)
		p.wait("lets the daemon read the transcript", 5*time.Second, 5*time.Second)
		equal(t, "the newest hook of the new agent", must(p.w.store.StoredHook(ctx(), p.row(next).LastHook)).Event, hooks.SessionStart)
	}))
}

// TestRefusedStepPromptIsSubmittedWithMore: another hook refuses the prompt of a step. While no daemon runs, a person types
// more behind it and submits both, interrupts that turn and gives another task. The agent has the step's prompt. Every run checks that it
// is given that once.
func TestRefusedStepPromptIsSubmittedWithMore(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.born = func(a *agent) { a.refusing, a.mood.think = true, 20*time.Second }
		id, a := begun(p, h, "one")
		p.w.holdFirst(10*time.Second, calls("restarts "))
		h.daemon.cancel(errStopped)
		p.poll("the refusal", func() bool { return a.composer.Text != "" })
		p.wait("thinks", time.Second, time.Second)
		a.refusing = false
		a.person(" And look at the roof.", tmux.Enter)
		p.poll("its turn", func() bool { return a.working != "" })
		a.person("", tmux.Escape)
		p.poll("the end of its turn", func() bool { return a.stop == nil })
		a.person("Look at the well.", tmux.Enter)
		p.reachStatus(id, daemon.PipelineDone)
	})
}

// TestStartThatCannotBe: there is neither a row nor a pane.
func TestStartThatCannotBe(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		refused := func(code daemon.Code, in agents.NewAgent) {
			_, err := startWith(p, h, in)
			wantCode(t, err, code)
		}
		for _, name := range []string{"7", "self", "list", "show", "--help", " x", "x "} {
			refused(daemon.CodeBadName, agents.NewAgent{Name: name})
		}
		for _, size := range [][2]int{{79, 40}, {501, 40}, {100, 23}, {100, 201}, {-1, 0}, {0, -1}} {
			refused(daemon.CodeBadSize, agents.NewAgent{Columns: size[0], Rows: size[1]})
		}
		for _, args := range [][]string{{"--verbose", "--settings=/tmp/x"}, {"--resume", "x"}} {
			refused(daemon.CodeBadArgs, agents.NewAgent{Args: args})
		}
		refused(daemon.CodeBadPermissionMode, agents.NewAgent{PermissionMode: "yolo"})
		refused("bad_model", agents.NewAgent{Model: "-p"})
		if rows, _ := p.w.rows(); len(rows) != 0 {
			t.Errorf("%d agents", len(rows))
		}
	})
}

// TestStartedAsChosen: the model, the mode and the arguments that a person chooses at the start are on the command line of the agent, of its
// successor and of the agent that opens its session again.
func TestStartedAsChosen(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		var launched [][]string
		p.w.born = func(a *agent) { launched = append(launched, must(launchFile(a.file)).Argv) }
		id, err := startWith(p, h, agents.NewAgent{Persona: personaSlugs[0], Model: "opus", PermissionMode: "plan", Args: []string{"--add-dir", "/tmp", "--verbose"}})
		p.await("its registration", time.Minute, func() bool { a := p.w.process(id); return err == nil && a != nil && p.row(a).State == daemon.Idle })
		p.promptOnce(p.w.process(id))
		next := p.w.process(*p.request(h, p.w.process(id), daemon.Completed).SuccessorID)
		p.await("its turn", time.Minute, func() bool { return p.row(next).WorkStop > 0 && p.row(next).State == daemon.Idle })
		p.stopped(h, next)
		p.reopen(h, next.id)
		p.await("its pane", time.Minute, func() bool { return len(launched) == 3 })
		for i, argv := range launched {
			line := strings.Join(argv, " ")
			own, mode := slices.Index(argv, "--settings"), slices.Index(argv, "--add-dir")
			if !strings.Contains(line, "--add-dir /tmp --verbose") || mode > own || !strings.Contains(line, "--model opus") || !strings.Contains(line, "--permission-mode plan") {
				t.Errorf("agent %d was launched with %q, want what was chosen before the launch's own", i+1, argv)
			}
		}
	})
}

// TestPersonaWhileItStarts: an agent is given a persona before it has registered. That is refused, for its launch may be without it already.
// Later it is typed, and in place once it was.
func TestPersonaWhileItStarts(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.born = func(a *agent) { a.mood.start = 0; a.frozen = time.Now().Add(10 * time.Second) }
		p.w.holdFirst(3*time.Second, calls("Spawn"))
		id, err := startWith(p, h, agents.NewAgent{})
		p.w.ok(err)
		wantCode(t, assign(p, h, id), "agent_starting")
		p.poll("its process", func() bool { return p.w.process(id) != nil || len(p.w.agents) > 0 })
		wantCode(t, assign(p, h, id), "agent_starting")
		p.await("its registration", time.Minute, func() bool { a := p.w.process(id); return a != nil && p.row(a).State == daemon.Idle })
		a := p.w.process(id)
		a.mood.think = 20 * time.Second
		a.person("long work", tmux.Enter)
		awaitTurn(p, a)
		if err := assign(p, h, id); err != nil || p.row(a).SkillInjectedAt != nil {
			t.Errorf("the skill is in place before it was typed: %v", err)
		}
		p.await("its skill", time.Minute, func() bool { return p.row(a).SkillInjectedAt != nil })
	})
}

// TestLaunchThatFails: tmux makes no pane. The agent ends with the reason, and what held its secret is gone.
func TestLaunchThatFails(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.failEach(failed, calls("Spawn"))
		id := p.start(h)
		p.await("its end", 5*time.Minute, func() bool { return rowOf(p, id).EndedAt != nil })
		if row := rowOf(p, id); !strings.Contains(*row.EndReason, errTerminal.Error()) {
			t.Errorf("it ended by %q", *row.EndReason)
		}
		p.poll("no launch file", func() bool { _, err := os.Stat(h.dir.Launch(id)); return os.IsNotExist(err) })
	})
}

// TestDialogBeforeASession: no hook reports a dialog that the CLI opens before its session. The operator is told at once where to answer it, of
// an agent as of a successor, and the time to register does not run out meanwhile.
func TestDialogBeforeASession(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		asks := func(a *agent) {
			p.await("the question", 10*time.Second, func() bool { return p.row(a).State == daemon.Waiting })
			p.wait("is away", 4*time.Minute, 4*time.Minute) // longer than registration_timeout
			if row := p.row(a); row.WaitsFor != "trust: may the agent work in this folder?" || row.RegisteredAt != nil || row.State != daemon.Waiting {
				t.Errorf("agent %d is %s for %q", a.id, row.State, row.WaitsFor)
			}
			a.person("", tmux.Enter)
		}
		p.w.born = func(a *agent) { a.mood.trust = true }
		id := p.start(h)
		p.poll("its process", func() bool { return p.w.process(id) != nil })
		a := p.w.process(id)
		asks(a)
		if told := eventsOf(p, event.OperatorNotified); len(told) == 0 || !strings.Contains(word(&told[0], "message"), fmt.Sprintf("understudy agent attach %d", id)) {
			t.Errorf("the operator was told %d times", len(told))
		}
		p.await("its registration", time.Minute, func() bool { return p.row(a).State == daemon.Idle })
		p.promptOnce(a)
		hf := p.request(h, a, daemon.AwaitingRegistration)
		p.poll("the successor's process", func() bool {
			hf = p.handoffs(a.id)[0]
			return hf.SuccessorID != nil && p.w.process(*hf.SuccessorID) != nil
		})
		asks(p.w.process(*hf.SuccessorID))
		p.reach(a, daemon.Completed)
	})
}

// TestProgramThatIsLeft: a person leaves OpenCode in its pane, which reports no end. An agent at rest did not die, and nobody is alarmed. One in
// a turn died, however its program exited.
func TestProgramThatIsLeft(t *testing.T) {
	for _, works := range []bool{false, true} {
		storyAs(t, fmt.Sprint("in a turn: ", works), withOn("opencode", func(t *testing.T, p *person, h *host, a *agent) {
			if works {
				a.mood.think = time.Hour
				message(p, h, a, "a long one")
				p.await("its turn", time.Minute, func() bool { return p.row(a).State == daemon.Working })
			}
			a.end("left", 0)
			p.awaitEnd(a)
			if row := p.row(a); row.Died() != works || !works && *row.EndReason != "exited" {
				t.Errorf("it ended by %q, died: %t", *row.EndReason, row.Died())
			}
		}))
	}
}
