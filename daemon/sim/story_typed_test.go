package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// TestTextIsReadUnderShutdown: a message that was typed, and that the agent has not read when its handoff is recorded, is
// waited for before the agent is asked to exit: a rule of every run says so.
func TestTextIsReadUnderShutdown(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		p.converse(a)
		a.mood.hands, a.mood.think = 10*time.Millisecond, 10*time.Second
		typed := false
		p.w.delay = func(c *call) time.Duration {
			switch {
			case strings.HasPrefix(c.what, "one-shot writes"):
				p.w.delay = nil
				return -time.Until(c.due)
			case strings.HasPrefix(c.what, "Press ") && !typed:
				typed, a.frozen = true, time.Now().Add(time.Hour)
			}
			return 0
		}
		p.send(a.id)
		p.await("the message to be typed", time.Minute, func() bool { return typed })
		p.requestHandoff(h, a, daemon.ModeGenerate)
		p.reach(a, daemon.ShuttingDown)
		a.frozen = time.Now().Add(3 * time.Second)
		p.asked(a, time.Minute)
		p.goOn(a)
	})
}

// TestDocumentBeforeAQueuedPrompt: a retry does not take a document that was written before the agent took a prompt,
// though the prompt's hook came when it was queued, before the document: a rule of every run says that no work ends
// without a word.
func TestDocumentBeforeAQueuedPrompt(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		a.mood.think = 10 * time.Second
		p.request(h, a, daemon.AwaitingDocument)
		a.failing = true // once the document is there
		a.person("one more thing", tmux.Enter)
		p.reach(a, daemon.Failed)
		if a.documentAt.IsZero() {
			t.Error("there is no document")
		}
		a.failing = false
		p.await("the end of the next turn", time.Minute, func() bool { return p.row(a).State == daemon.Idle && len(a.unmentioned) > 0 && a.stop == nil })
		p.goOn(a)
	})
}

// TestEnterPressedLate: an agent has its time to take a text also if the machine took all of it to press Enter: a rule of
// every run says that no text arrives that is said not to have.
func TestEnterPressedLate(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		a.mood.hands = 2 * time.Second
		p.delayFirst(func(c *call) bool { return strings.HasPrefix(c.what, "Press ") },
			func() time.Duration { return settings().Handoff.AckTimeout + time.Second })
		p.send(a.id)
		p.await("the end of its turn", 5*time.Minute, func() bool { return p.row(a).WorkStop > 0 })
	})
}
