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
	story(t, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
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
		endsAfterAQuestion(p, a)
	}))
}

// TestDocumentBeforeAQueuedPrompt: an agent writes the document and then takes a prompt from its queue, whose hook came
// before the document. A retry does not accept the document. Every run checks that no agent is ended with work that no
// document mentions.
func TestDocumentBeforeAQueuedPrompt(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
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
	}))
}

// TestEnterPressedLate: pressing Enter takes longer than ack_timeout. The agent still has its time to take the message.
// Every run checks that no agent takes a delivery whose verdict is not_submitted.
func TestEnterPressedLate(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		a.mood.hands = 2 * time.Second
		p.w.delayFirst(calls("Press "),
			func() time.Duration { return settings().Handoff.AckTimeout + time.Second })
		p.send(a.id)
		p.await("the end of its turn", 5*time.Minute, func() bool { return p.row(a).WorkStop > 0 })
	}))
}

// TestEnterIsNotForTheDraftThatCameBack: a person's draft is put aside for a message. A person submits the message before the daemon looks at
// the composer, and the draft comes back, or the person begins another text. The daemon does not press Enter, for that would submit the draft:
// neither if its look comes late nor if the draft has the very text of the message.
func TestEnterIsNotForTheDraftThatCameBack(t *testing.T) {
	for what, drafts := range map[string][2]string{
		"a late look": {"half a thought", ""}, "begun since": {"", "another thought"}, "the same text": {"Task 1 of story: look at the sheds and the barn", ""},
	} {
		storyAs(t, what, with(func(t *testing.T, p *person, h *host, a *agent) {
			a.mood.hands, a.mood.think = 10*time.Millisecond, 10*time.Second
			a.person(drafts[0])
			p.wait("thinks", time.Second, time.Second)
			typed := false
			h.term.before = func(string) { typed = true }
			p.w.delay = func(c *call) time.Duration {
				switch {
				case what != "the same text" && typed && strings.HasPrefix(c.what, "Look "):
					p.w.delay = nil
					a.person("", tmux.Enter)
					a.person(drafts[1])
					return 3 * time.Second
				case what == "the same text" && strings.HasPrefix(c.what, "RecordHook UserPromptSubmit"):
					return 3 * time.Second
				}
				return 0
			}
			p.send(a.id)
			p.await("the message to be typed", time.Minute, func() bool { return typed })
			p.wait("looks elsewhere", 8*time.Second, 8*time.Second)
			equal(t, "the composer holds", a.composer.Text, drafts[0]+drafts[1])
		}))
	}
}

// TestLongMessageBesideADraft: a person's draft is put aside for a message that the composer folds, and the agent is slow to read its keyboard.
// The daemon presses Enter for the message, and the draft comes back.
func TestLongMessageBesideADraft(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		a.person("half a thought")
		p.wait("thinks", time.Second, time.Second)
		h.term.before = func(string) { a.frozen = time.Now().Add(2 * time.Second) }
		message(p, h, a, strings.Repeat("look at each of the sheds\n", 50))
		p.await("the end of its turn", time.Minute, func() bool { return p.row(a).WorkStop > 0 })
		equal(t, "the composer holds", a.composer.Text, "half a thought")
	}))
}

// TestEnterByEchoIsKnown: the daemon has pressed Enter for a text to a CLI that tells nothing, and another writer is first when it stores that.
// The daemon stores it again. It knows that the text was submitted, so nobody is asked to send it once more.
func TestEnterByEchoIsKnown(t *testing.T) {
	story(t, withOn(linesName, func(t *testing.T, p *person, h *host, a *agent) {
		p.send(a.id)
		met := p.w.failFirst(moved, 3, calls("RecordHook UserPromptSubmit"))
		if d := verdict(p, a); *met != 3 || *d.Verdict != daemon.Submitted {
			t.Errorf("%d commits have failed; the verdict is %s: %s", *met, *d.Verdict, d.Evidence)
		}
	}))
}

// TestStopOfAPromptThatNobodyHasHeardOf: a person prompts an agent just before the daemon types a message, and the hook of that prompt is lost.
// The agent reads the message after the turn. The Stop of the turn does not prove that it was taken. Every run checks that no text with the
// verdict submitted was kept from its agent.
func TestStopOfAPromptThatNobodyHasHeardOf(t *testing.T) {
	for cli, event := range map[string]string{"claude": "UserPromptSubmit", "gemini": "BeforeAgent"} {
		storyAs(t, cli, withOn(cli, func(t *testing.T, p *person, h *host, a *agent) {
			a.mood.think = time.Second
			h.term.before = func(string) {
				h.term.before = nil
				a.person("some work", tmux.Enter)
			}
			lost := p.w.failFirst(lostHook, 1, func(c *call) bool { return c.kind == sending && isHook(c.own, event) })
			p.w.delayEach(5*time.Second, func(c *call) bool { return *lost > 0 && c.what == "reads its keyboard" })
			p.send(a.id)
			if d := verdict(p, a); *lost == 0 || *d.Verdict != daemon.Submitted {
				t.Errorf("%d hooks are lost; the verdict is %s: %s", *lost, *d.Verdict, d.Evidence)
			}
		}))
	}
}
