package sim

import (
	"cmp"
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

// TestStepsOfTheClockCountAgainstNothing: the clock is set, or the host sleeps, before a handoff or while the agent writes its document. The
// handoff has all the time of its deadlines, no prompt before it is taken for later work, and no fork for one of an earlier daemon.
func TestStepsOfTheClockCountAgainstNothing(t *testing.T) {
	set := func(steps ...time.Duration) func(p *person, h *host) {
		return func(p *person, h *host) {
			for _, by := range steps {
				h.setClock(by)
				p.wait("waits", 8*time.Second, 8*time.Second)
			}
		}
	}
	for name, c := range map[string]struct {
		before, while func(p *person, h *host)
		mode          daemon.Mode
		runtime       string
	}{
		"2 h back":                    {while: set(-2 * time.Hour)},
		"a minute back":               {while: set(-time.Minute)},
		"3 s back":                    {while: set(-3 * time.Second)},
		"a minute forward":            {while: set(time.Minute)},
		"2 h forward":                 {while: set(2 * time.Hour)},
		"of a server, an hour back":   {while: set(-time.Hour), runtime: "opencode"}, // its prompts have later times than its rest
		"back before it":              {before: set(-time.Hour)},
		"back before a fork":          {before: set(-time.Hour), mode: daemon.ModeGenerate},
		"twice back, to another time": {before: set(-45*time.Minute, -4*time.Minute)},
		"the host sleeps for an hour": {while: sleep},
	} {
		storyAs(t, name, withOn(cmp.Or(c.runtime, "claude"), func(t *testing.T, p *person, h *host, a *agent) {
			p.promptOnce(a)
			a.mood.think = 30 * time.Second
			if c.before != nil {
				c.before(p, h)
			}
			p.requestHandoff(h, a, c.mode)
			if c.while != nil {
				p.reach(a, daemon.AwaitingDocument)
				c.while(p, h)
			}
			if done := p.reach(a, daemon.Completed); done.Error != nil || done.Metrics.TotalMS < 0 {
				t.Error(done.Error, done.Metrics)
			}
		}))
	}
}

// sleep has a host sleep for an hour.
func sleep(p *person, h *host) {
	h.asleep = time.Now().Add(time.Hour)
	h.noteAbsence(h.asleep)
	p.w.calm = h.asleep
	p.wait("sleeps", time.Hour, time.Hour)
}

// TestDeadlineAcrossASetBackAndARestart: the clock is set back while no daemon runs. A deadline is then no later than
// after any other restart.
func TestDeadlineAcrossASetBackAndARestart(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		a.mood.think = time.Hour
		p.request(h, a, daemon.AwaitingDocument)
		p.end(h)
		h.setClock(-2 * time.Hour)
		failsBy(p, a, "document_timeout")
	}))
}

// typesInstruction accepts the commit of the intention to type an instruction.
func typesInstruction(what string) bool {
	return strings.Contains(what, "(instruction for agent") && strings.Contains(what, " typing")
}

// TestWorkAsTheClockWasSetBack: the clock is set back between the instruction and a prompt behind it, or as the instruction was typed, and shows
// that time again. The daemon takes the prompt for newer all the same, and does not forget it. Every run checks that no agent is ended with work
// that no document mentions.
func TestWorkAsTheClockWasSetBack(t *testing.T) {
	for _, typing := range []bool{false, true} {
		storyAs(t, fmt.Sprint("as it was typed: ", typing), with(func(t *testing.T, p *person, h *host, a *agent) {
			a.mood.think = 20 * time.Second
			back := func() { h.setClock(-30 * time.Second) }
			if typing {
				p.w.afterFirst(typesInstruction, back)
			}
			p.request(h, a, daemon.AwaitingDocument)
			if !typing {
				back()
			}
			a.person("one more thing", tmux.Enter)
			p.awaitQuestion(a, 5*time.Minute)
			p.wait("lets the clock show that time again", time.Minute, time.Minute)
			p.retryToEnd(a)
		}))
	}
}

// TestStepAfterTheClockWasSetBack: the clock is set back before an agent takes its step's prompt, so that the prompt seems
// older than the agent, and the daemon that saw this ends. The next daemon does not type the prompt again. Every run
// checks that.
func TestStepAfterTheClockWasSetBack(t *testing.T) {
	story(t, func(_ *testing.T, p *person, h *host) {
		var a *agent
		p.w.born = func(born *agent) {
			a, born.mood.think = born, time.Minute
			h.setClock(-20 * time.Second)
		}
		id := p.startPipeline(h, "one")
		p.await("its process", time.Minute, func() bool { return a != nil })
		p.end(h)
		p.wait("waits", 23*time.Second, 23*time.Second)
		a.person("one more thing", tmux.Enter)
		p.reachStatus(id, daemon.PipelineDone)
	})
}

// TestWorkBesideAForkAsTheClockWasSetBack: an agent is prompted while a fork of its session writes the document, and the hook of the prompt is
// lost. The clock is set back to before both; or it is set back before the next daemon starts, so that the prompt's time is in the future. The
// daemon, which cannot know of the clock then, still finds the prompt.
func TestWorkBesideAForkAsTheClockWasSetBack(t *testing.T) {
	for name, c := range map[string]struct{ forward, back time.Duration }{
		"before both": {0, -time.Hour}, "before the next daemon starts": {10 * time.Minute, -5 * time.Minute},
	} {
		storyAs(t, name, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
			a.mood.think = time.Minute
			p.loseHooks(hooks.UserPromptSubmit)
			p.requestHandoff(h, a, daemon.ModeGenerate)
			p.poll("the fork", func() bool { return p.handoffs(a.id)[0].ForkedAt != nil })
			h.setClock(c.forward)
			a.person("one more thing", tmux.Enter)
			p.reach(a, daemon.ShuttingDown)
			if c.forward > 0 {
				p.end(h)
			}
			h.setClock(c.back)
			endsAfterAQuestion(p, a)
		}))
	}
}

// TestDeadlineWhileTheClockIsSetBackOverAFreeze: a daemon is frozen again and again soon after its start, and the clock is
// set back meanwhile. The daemon gives a deadline the half minute that it gives after each start. Every run checks that.
func TestDeadlineWhileTheClockIsSetBackOverAFreeze(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		a.mood.think = time.Hour
		p.request(h, a, daemon.AwaitingDocument)
		p.end(h)
		h.setClock(2 * time.Hour) // the deadline is past, except for the new daemon's half minute
		awaitDaemon(p, h)
		p.wait("lets it work", 2*time.Second, 2*time.Second)
		for range 4 {
			h.daemon.frozen = time.Now().Add(20 * time.Second)
			p.w.calm = h.daemon.frozen
			h.noteAbsence(h.daemon.frozen)
			p.wait("waits", 10*time.Second, 10*time.Second)
			h.setClock(-time.Minute)
			p.wait("waits", 12*time.Second, 12*time.Second)
		}
		failsBy(p, a, "document_timeout")
	}))
}

// failWriting has an agent think for so long about its document that its handoff fails, and interrupts it. The agent is quick from then on.
func failWriting(p *person, h *host, a *agent) daemon.Handoff {
	a.mood.think = time.Hour
	failed := p.request(h, a, daemon.Failed)
	a.mood.think, a.mood.hands = time.Second, time.Millisecond
	a.person("", tmux.Escape)
	p.await("the end of its turn", time.Minute, func() bool { return p.row(a).State == daemon.Idle })
	return failed
}

// allDone is a document that a person writes in place of an agent.
const allDone = "## What Was Done\n\nAll of it.\n"

// writeByHand writes the document of a handoff in place of its agent.
func writeByHand(p *person, h *daemon.Handoff, text string, at time.Time) {
	p.w.ok(errors.Join(os.RemoveAll(h.FilePath), os.WriteFile(h.FilePath, []byte(text), 0o600), os.Chtimes(h.FilePath, at, at)))
}

// TestWorkWhileARecordIsAssembled: the agent of a retried handoff takes a prompt after the daemon has read the document
// and before it has recorded it. The daemon asks before it ends the agent.
func TestWorkWhileARecordIsAssembled(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		failed := failWriting(p, h, a)
		writeByHand(p, &failed, allDone, h.now())
		p.loseHooks(hooks.UserPromptSubmit)
		p.w.delayFirst(calls("records before agent "), func() time.Duration {
			a.person("one more thing", tmux.Enter)
			return 100 * time.Millisecond // shorter than a sweep, which would find the prompt
		})
		p.w.ok(p.retry(&failed))
		endsAfterAQuestion(p, a)
	}))
}

// TestDocumentOfTheSameMoment: the agent of a failed handoff takes a prompt in the moment in which its document is written. Nothing says
// which came first, so a retry asks for the document anew.
func TestDocumentOfTheSameMoment(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		failed := failWriting(p, h, a)
		p.promptOnce(a)
		writeByHand(p, &failed, allDone, p.row(a).LastPromptAt.Add(time.Nanosecond)) // the row has no nanoseconds
		p.w.ok(p.retry(&failed))
		p.reach(a, daemon.Completed)
		if rec, err := p.w.store.Record(ctx(), failed.ID); err != nil || strings.Contains(rec.Document, "All of it.") {
			t.Errorf("%v; the record has the old document:\n%s", err, rec.Document)
		}
	}))
}

// TestTurnsOfAServerAfterTheClockWasSetBack: the clock is set back after an agent began whose server tells its turns, so that its prompts
// seem older than the agent, and the daemon that saw this ends. The next one sees the agent's turns all the same, also when the clock shows
// the agent's begin again, and also in a session that an earlier agent had. It takes no prompt of that agent for this one's.
func TestTurnsOfAServerAfterTheClockWasSetBack(t *testing.T) {
	for what, opened := range map[string]bool{"a session of its own": false, "an earlier agent's session": true} {
		storyAs(t, what, withOn("opencode", func(t *testing.T, p *person, h *host, a *agent) {
			if opened {
				message(p, h, a, "the work of the first agent")
				p.await("the end of its turn", time.Minute, func() bool { return p.row(a).LastStop > 0 })
				p.stopped(h, a)
				a = awaitIdle(p, p.reopen(h, a.id).ID)
			}
			h.setClock(-30 * time.Second)
			p.end(h)
			p.wait("lets the next daemon look", 10*time.Second, 10*time.Second)
			equal(t, "hook … told of a prompt, but the agent was given none", p.row(a).LastPrompt, int64(0))
			for range 2 {
				a.mood.think = time.Hour
				message(p, h, a, "one more thing")
				p.await("its turn", 20*time.Second, func() bool { return p.row(a).State == daemon.Working })
				p.wait("lets the clock show the agent's begin again", time.Minute, time.Minute)
				p.end(h)
				a.person("", tmux.Escape)
				p.await("the end of its turn", 20*time.Second, func() bool { return p.row(a).State == daemon.Idle })
			}
		}))
	}
}
