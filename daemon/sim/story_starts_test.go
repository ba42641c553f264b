package sim

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
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
				p.w.employEndless("chance", func(p *person) {
					asksFeedback(next, "over a text", "")
				})
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

// TestStepPromptIsHeld: the same for the prompt of a command line. Every run checks that the agent of a step gets its prompt once.
func TestStepPromptIsHeld(t *testing.T) {
	story(t, func(_ *testing.T, p *person, h *host) {
		p.w.born = func(a *agent) { a.mood.held, a.heldFor = 1, 50*time.Second }
		p.reachStatus(p.startPipeline(h, "one"), daemon.PipelineDone)
	})
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

// TestRefusedStepPromptIsSubmittedWithMore: another hook refuses the prompt of a step's command line. While no daemon runs, a person types
// more behind it and submits both, interrupts that turn and gives another task. The agent has the step's prompt. Every run checks that it
// is given that once.
func TestRefusedStepPromptIsSubmittedWithMore(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.born = func(a *agent) { a.refusing, a.mood.think = true, 20*time.Second }
		id := p.startPipeline(h, "one")
		a := p.newest(id, 0)
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
