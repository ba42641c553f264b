package sim

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// converse has an agent do some work at its pane.
func (p *person) converse(a *agent) {
	a.person("some work", tmux.Enter)
	p.await("the end of its turn", time.Minute, func() bool { return p.row(a).WorkStop > 0 && p.row(a).State == daemon.Idle })
}

// TestClockStepsCountAgainstNothing: whatever the clock does while the document is written, the handoff has its time.
func TestClockStepsCountAgainstNothing(t *testing.T) {
	for _, by := range []time.Duration{-2 * time.Hour, -time.Minute, -3 * time.Second, time.Minute, 2 * time.Hour} {
		t.Run(fmt.Sprint(by), func(t *testing.T) {
			story(t, func(t *testing.T, p *person, h *host) {
				a := p.agent(h)
				a.mood.think = 30 * time.Second
				p.request(h, a, daemon.AwaitingDocument)
				h.setClock(by)
				if done := p.reach(a, daemon.Completed); done.Error != nil || done.Metrics.TotalMS < 0 {
					t.Error(done.Error, done.Metrics)
				}
			})
		})
	}
}

// TestClockIsSetBackTwice: what begins after the clock was set back twice, to a time that it had shown neither before the
// first step nor between them, has its whole time.
func TestClockIsSetBackTwice(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		h.setClock(-45 * time.Minute)
		p.wait("waits", 8*time.Second, 8*time.Second)
		h.setClock(-4 * time.Minute)
		p.wait("waits", 8*time.Second, 8*time.Second)
		if done := p.request(h, a, daemon.Completed); done.Error != nil {
			t.Error(done.Error)
		}
	})
}

// TestDeadlineAcrossASetBackAndARestart: a clock that was set back while no daemon ran makes no deadline later than the
// restart does.
func TestDeadlineAcrossASetBackAndARestart(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		a.mood.think = time.Hour
		p.request(h, a, daemon.AwaitingDocument)
		p.end(h)
		h.setClock(-2 * time.Hour)
		if failed := p.reach(a, daemon.Failed); failed.Error == nil || failed.Error.Code != "document_timeout" {
			t.Errorf("failed with %v", failed.Error)
		}
	})
}

// TestForkAfterTheClockWasSetBack: a fork that began at a time before the daemon did, by a clock that was set back in
// between, is not taken for one of an earlier daemon.
func TestForkAfterTheClockWasSetBack(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		p.converse(a)
		h.setClock(-time.Hour)
		p.requestHandoff(h, a, daemon.ModeGenerate)
		p.reach(a, daemon.Completed)
	})
}

// TestWorkAfterTheClockWasSetBack: a prompt that is queued behind the instruction came after it, whatever the clock
// says: a rule of every run says that no work ends without a word.
func TestWorkAfterTheClockWasSetBack(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		a.mood.think = 20 * time.Second
		p.request(h, a, daemon.AwaitingDocument)
		h.setClock(-30 * time.Second)
		a.person("one more thing", tmux.Enter)
		p.asked(a, 5*time.Minute)
		p.goOn(a)
	})
}

// TestWorkStaysAsTheClockGoesOn: work that came after an instruction is still known once a clock that was set back shows
// again when the instruction was typed.
func TestWorkStaysAsTheClockGoesOn(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		a.mood.think = 10 * time.Second
		p.w.after = func(what string) {
			if strings.Contains(what, "(instruction for agent") && strings.Contains(what, " typing") {
				p.w.after = nil
				h.setClock(-30 * time.Second)
			}
		}
		p.request(h, a, daemon.AwaitingDocument)
		a.person("one more thing", tmux.Enter)
		p.asked(a, 5*time.Minute)
		p.wait("lets the clock show that time again", time.Minute, time.Minute)
		p.goOn(a)
	})
}

// TestHandoffAfterTheClockWasSetBack: a prompt from before the clock was set back is not taken for work that came after
// the instruction.
func TestHandoffAfterTheClockWasSetBack(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		p.converse(a)
		h.setClock(-time.Hour)
		p.wait("waits", 5*time.Second, 5*time.Second)
		p.request(h, a, daemon.Completed)
	})
}

// TestStepAfterTheClockWasSetBack: an agent that has taken its step's prompt is not given it again because the clock shows
// that as a time before the agent was made, and the daemon that saw the clock being set back has ended: a rule of every
// run says so.
func TestStepAfterTheClockWasSetBack(t *testing.T) {
	story(t, func(_ *testing.T, p *person, h *host) {
		var a *agent
		p.w.born = func(born *agent) {
			a, born.mood.think = born, time.Minute
			h.setClock(-20 * time.Second)
		}
		id := p.run(h, "one")
		p.await("its process", time.Minute, func() bool { return a != nil })
		p.end(h)
		p.wait("waits", 23*time.Second, 23*time.Second)
		a.person("one more thing", tmux.Enter)
		p.reachRun(id, daemon.PipelineDone)
	})
}

// promptBesideAFork has an agent that is handed over by a fork of its session be given work after the fork began and the
// clock was set forward, and waits until the document is recorded.
func (p *person) promptBesideAFork(h *host, a *agent, forward time.Duration) {
	a.mood.think = time.Minute
	p.requestHandoff(h, a, daemon.ModeGenerate)
	p.often("the fork", func() bool { return p.handoffs(a.id)[0].ForkedAt != nil })
	h.setClock(forward)
	a.person("one more thing", tmux.Enter)
	p.reach(a, daemon.ShuttingDown)
}

// TestWorkAfterAForkAndTheClockWasSetBack: work that an agent was given while a copy of its session wrote the document is
// not forgotten because the clock was set back to before all of that.
func TestWorkAfterAForkAndTheClockWasSetBack(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		p.converse(a)
		p.promptBesideAFork(h, a, 0)
		h.setClock(-time.Hour)
		p.asked(a, 5*time.Minute)
		p.goOn(a)
	})
}

// TestDeadlineWhileTheClockIsSetBackOverAFreeze: a daemon that began a moment ago and stands still again and again, while the
// clock is set back, gives what waits the half minute that each start does: a rule of every run says so.
func TestDeadlineWhileTheClockIsSetBackOverAFreeze(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		a.mood.think = time.Hour
		p.request(h, a, daemon.AwaitingDocument)
		p.end(h)
		h.setClock(2 * time.Hour) // nothing but the new daemon's own half minute is left to what waits
		p.await("the next daemon", time.Minute, func() bool { return h.gen != nil && h.gen.listening })
		p.wait("lets it work", 2*time.Second, 2*time.Second)
		for range 4 {
			h.gen.frozen = time.Now().Add(20 * time.Second)
			p.w.calm = h.gen.frozen
			h.nobody(h.gen.frozen)
			p.wait("waits", 10*time.Second, 10*time.Second)
			h.setClock(-time.Minute)
			p.wait("waits", 12*time.Second, 12*time.Second)
		}
		if failed := p.reach(a, daemon.Failed); failed.Error == nil || failed.Error.Code != "document_timeout" {
			t.Errorf("failed with %v", failed.Error)
		}
	})
}

// TestWorkBeforeTheDaemonBegan: a prompt whose hook was lost is seen although its time is still to come, because the clock
// was set back between it and the start of the daemon, which can't know that.
func TestWorkBeforeTheDaemonBegan(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		p.converse(a)
		p.losing(hooks.UserPromptSubmit)
		p.promptBesideAFork(h, a, 10*time.Minute)
		p.end(h)
		h.setClock(-5 * time.Minute)
		p.asked(a, 5*time.Minute)
		p.goOn(a)
	})
}

// TestWorkWhileARecordIsAssembled: a retry's document was read before the record is assembled, which may take long.
func TestWorkWhileARecordIsAssembled(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		a.mood.think = time.Hour
		failed := p.request(h, a, daemon.Failed)
		a.mood.think, a.mood.hands = time.Second, time.Millisecond
		a.person("", tmux.Escape)
		p.await("the end of its turn", time.Minute, func() bool { return p.row(a).State == daemon.Idle })
		now := h.now()
		err := os.WriteFile(failed.FilePath, []byte("## What Was Done\n\nAll of it.\n"), 0o600)
		if err = errors.Join(err, os.Chtimes(failed.FilePath, now, now)); err != nil {
			t.Fatal(err)
		}
		p.losing(hooks.UserPromptSubmit)
		p.delayFirst(func(c *call) bool { return strings.HasPrefix(c.what, "LineRecords") }, func() time.Duration {
			a.person("one more thing", tmux.Enter)
			return 100 * time.Millisecond // no sweep sees it meanwhile
		})
		if err := p.retry(&failed); err != nil {
			t.Fatal(err)
		}
		p.asked(a, time.Minute)
		p.goOn(a)
	})
}

// losing has the hooks of an event get lost from now on.
func (p *person) losing(event string) {
	p.w.inject = func(c *call) fault {
		if c.kind == sending && isHook(c.own, event) {
			return lostHook
		}
		return none
	}
}
