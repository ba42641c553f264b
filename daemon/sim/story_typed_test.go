package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// TestTextIsReadUnderShutdown: a message was typed, but the agent has not read it when its handoff is recorded. The daemon
// waits for that before it asks the agent to exit. Every run checks that.
func TestTextIsReadUnderShutdown(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		p.promptOnce(a)
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
		p.awaitQuestion(a, time.Minute)
		p.retryToEnd(a)
	})
}

// TestDocumentBeforeAQueuedPrompt: an agent writes the document and then takes a prompt from its queue, whose hook came
// before the document. A retry does not accept the document. Every run checks that no agent is ended with work that no
// document mentions.
func TestDocumentBeforeAQueuedPrompt(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		a.mood.think = 10 * time.Second
		p.request(h, a, daemon.AwaitingDocument)
		a.failing = true // the turn fails after it has written the document
		a.person("one more thing", tmux.Enter)
		p.reach(a, daemon.Failed)
		if a.documentAt.IsZero() {
			t.Error("there is no document")
		}
		a.failing = false
		p.await("the end of the next turn", time.Minute, func() bool { return p.row(a).State == daemon.Idle && len(a.unmentioned) > 0 && a.stop == nil })
		p.retryToEnd(a)
	})
}

// TestEnterPressedLate: pressing Enter takes longer than ack_timeout. The agent still has its time to take the message.
// Every run checks that no agent takes a delivery whose verdict is not_submitted.
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
