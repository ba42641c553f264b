package sim

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// swallow has a dialog open over the next text that is typed to an agent, before the agent reads the text.
func swallow(p *person, a *agent) {
	beforeFirst(p.w, calls("Paste "), func() {
		a.frozen = time.Now().Add(2 * time.Second)
		p.w.afterFirst(func(what string) bool { return strings.Contains(what, " typed ") }, func() {
			go asksFeedback(a, "over a text", "")
		})
	})
}

// verdict waits for the verdict of the newest delivery to an agent.
func verdict(p *person, a *agent) (d daemon.Delivery) {
	p.await("a verdict", 10*time.Minute, func() bool {
		list := deliveries(p.w, a.id)
		if len(list) > 0 {
			d = list[0]
		}
		return len(list) > 0 && !d.Open()
	})
	return d
}

// TestSwallowedMessage: a dialog swallows a message that the agent has taken once before. It is answered after more than ack_timeout; then the
// message is typed again, once, and taken. Without the transcript nobody knows whether it was taken, and it is not typed again. A clock that is
// set back makes the earlier prompt no later one.
func TestSwallowedMessage(t *testing.T) {
	for name, c := range map[string]struct {
		hidden        bool
		before, while time.Duration
	}{"known": {}, "no transcript": {hidden: true}, "set back before it": {before: -time.Hour}, "set back since": {while: -time.Hour}} {
		storyAs(t, name, with(func(t *testing.T, p *person, h *host, a *agent) {
			message(p, h, a, "Mend the fence")
			awaitRest(p, a)
			if c.hidden {
				hideTranscript(p, t, a)
			}
			h.setClock(c.before)
			swallow(p, a)
			message(p, h, a, "Mend the fence")
			p.poll("the dialog", func() bool { return a.dialog != nil })
			h.setClock(c.while)
			p.wait("is away", time.Minute, time.Minute)
			a.person("", tmux.Enter)
			times, want := 2, daemon.Submitted
			if c.hidden {
				times, want = 1, daemon.Unconfirmed
			}
			d := verdict(p, a)
			if len(a.given) != times || d.TypedAgain == c.hidden || !d.Has(want) {
				t.Errorf("taken %d times, %s %s, typed again %t", len(a.given), *d.Verdict, d.Evidence, d.TypedAgain)
			}
		}))
	}
}

// hideTranscript makes a transcript that the daemon cannot find.
func hideTranscript(p *person, t *testing.T, a *agent) {
	gone := t.TempDir() + "/gone.jsonl"
	p.change(a.id, func(row *daemon.Agent) { row.TranscriptPath = &gone })
}

// TestDialogInTheTurnOfAMessage: the agent takes a message, but the hook that would say so is lost, and a dialog opens in its
// turn. The message is not typed again.
func TestDialogInTheTurnOfAMessage(t *testing.T) {
	story(t, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
		p.loseHooks(hooks.UserPromptSubmit)
		a.extra = func(ctx context.Context) bool { return a.permission(ctx) }
		message(p, h, a, "Mend the fence")
		p.poll("the dialog", func() bool { return a.dialog != nil })
		p.wait("is away", 20*time.Second, 20*time.Second)
		a.person("", tmux.Enter)
		if d := verdict(p, a); d.TypedAgain || *d.Verdict != daemon.Submitted {
			t.Errorf("%s %s, typed again %t", *d.Verdict, d.Evidence, d.TypedAgain)
		}
		p.w.inject = nil
	}))
}

// TestPasteWithoutAnAnswer: tmux pastes a text, and its answer is lost. The daemon that finds the text in the composer waits as
// long as the CLI drops an Enter. Every run checks that.
func TestPasteWithoutAnAnswer(t *testing.T) {
	story(t, withOn("gemini", func(t *testing.T, p *person, h *host, a *agent) {
		a.mood.hands = time.Millisecond
		p.w.failFirst(lostAnswer, 1, calls("Paste "))
		message(p, h, a, "some work")
		awaitRest(p, a)
	}))
}

// TestMessagesGoToTheHeirThatIsBriefed: a message is sent while its agent is being ended. The first successor dies before its
// briefing, and the retry has another one started, which gets the message after its briefing. The daemon is killed right before
// and right after the transaction that passes the message on.
func TestMessagesGoToTheHeirThatIsBriefed(t *testing.T) {
	for _, f := range []fault{none, crashBefore, crashAfter} {
		storyAs(t, string(f), withWorked(func(t *testing.T, p *person, h *host, a *agent) {
			p.request(h, a, daemon.ShuttingDown)
			message(p, h, a, "Mend the fence")
			message(p, h, a, "Mend the roof")
			hf := p.reach(a, daemon.AwaitingRegistration)
			p.poll("the process of the successor", func() bool { return p.w.process(*hf.SuccessorID) != nil })
			p.w.process(*hf.SuccessorID).end("died", 1)
			p.reach(a, daemon.Failed)
			p.w.failFirst(f, 1, commits("→ completed"))
			p.retryToEnd(a)
			next := p.w.process(*p.handoffs(a.id)[0].SuccessorID)
			p.await("the messages", time.Minute, func() bool { return len(next.memory.Prompts) == 2 })
			equal(t, "prompts", next.memory.Prompts, []string{"Mend the fence", "Mend the roof"})
			list := deliveries(p.w, a.id)
			if len(list) < 2 || list[0].AgentID != next.id || list[0].PassedFrom == nil || *list[0].PassedFrom != a.id {
				t.Errorf("deliveries of agent %d: %+v", a.id, list)
			}
		}))
	}
}

// TestMessageAtTheMomentOfCompletion: a message is queued for the outgoing agent after the daemon has read its queue, and before the
// transaction that completes the handoff. It is passed on all the same.
func TestMessageAtTheMomentOfCompletion(t *testing.T) {
	story(t, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
		beforeFirst(p.w, commits("→ completed"), func() {
			row := p.row(a)
			id := must(p.w.store.NextID(ctx(), daemon.DeliveryIDs))
			d := &daemon.Delivery{ID: id, AgentID: a.id, Kind: daemon.KindMessage, Text: "Mend the fence", State: daemon.DeliveryQueued, CreatedAt: time.Now()}
			p.w.ok(p.w.store.Commit(ctx(), &daemon.Change{Agents: []*daemon.Agent{&row}, NewDeliveries: []*daemon.Delivery{d}}))
		})
		p.request(h, a, daemon.Completed)
		next := p.w.process(*p.handoffs(a.id)[0].SuccessorID)
		p.await("the message", time.Minute, func() bool { return slices.Contains(next.memory.Prompts, "Mend the fence") })
	}))
}

// TestMessageIsCancelledAtTheMomentOfTheRecord: a handoff drops the queued messages at its record. The operator cancels one after the daemon
// has read the queue, and before that transaction. The log says once what became of the message.
func TestMessageIsCancelledAtTheMomentOfTheRecord(t *testing.T) {
	story(t, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
		beforeFirst(p.w, commits("→ recorded"), func() {
			list := must(p.w.store.OpenDeliveries(ctx(), a.id))
			equal(t, "open deliveries", len(list), 1)
			d, verdict, now := &list[0], daemon.NotSubmitted, time.Now()
			d.State, d.Verdict, d.Evidence, d.DecidedAt = daemon.DeliveryDone, &verdict, "cancelled by the operator", &now
			e := &event.Event{Type: event.DeliveryCancelled, AgentID: &a.id, Host: h.name, At: now, Payload: event.Payload(map[string]any{"delivery_id": d.ID})}
			p.w.ok(p.w.store.Commit(ctx(), &daemon.Change{Deliveries: []*daemon.Delivery{d}, Events: []*event.Event{e}}))
		})
		p.w.ok(handOff(p, h, a.id, handoffs.HandoffRequest{Force: true, DropMessages: true}))
		p.reach(a, daemon.AwaitingDocument)
		message(p, h, a, "Mend the fence")
		p.reach(a, daemon.Completed)
	}))
}

// TestMessageAtTheMomentOfARetry: a handoff to two heirs has failed, so that its outgoing agent gets its messages again. The handoff is
// retried while the daemon begins to type one. The message waits then, and the first heir gets it.
func TestMessageAtTheMomentOfARetry(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		killHeir(p, a, 1)
		failed := share(p, h, a, heirs(personaSlugs[0], personaSlugs[1]), daemon.Failed)
		begins := false
		p.w.delayFirst(func(c *call) bool {
			return strings.Contains(c.what, "(message for agent ") && strings.Contains(c.what, " typing")
		}, func() time.Duration {
			begins = true
			return time.Second
		})
		message(p, h, a, "some work")
		p.poll("the begin of its typing", func() bool { return begins })
		p.retryToEnd(a)
		p.await("the message", time.Minute, func() bool {
			list := deliveries(p.w, *failed.Heirs[0].AgentID)
			return list[0].Kind == daemon.KindMessage && list[0].Verdict != nil && *list[0].Verdict == daemon.Submitted
		})
	}))
}

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
		equal(t, "there is no document", a.documentAt.IsZero(), false)
		a.failing = false
		p.await("the end of the next turn", time.Minute, func() bool { return p.row(a).State == daemon.Idle && len(a.unmentioned) > 0 && a.stop == nil })
		p.retryToEnd(a)
	}))
}

// TestEnterPressedLate: pressing Enter takes longer than ack_timeout, or the agent shows the message so late that the look which would be the
// last is the first to find it in the composer. The agent still has its time to take the message. Every run checks that no agent takes a
// delivery whose verdict is not_submitted.
func TestEnterPressedLate(t *testing.T) {
	limit := settings().Handoff.AckTimeout
	for slow, takes := range map[string]struct{ call, show time.Duration }{"Press ": {limit + time.Second, 0}, "Paste ": {0, limit - time.Second/2}} {
		storyAs(t, slow, with(func(_ *testing.T, p *person, h *host, a *agent) {
			a.mood.hands = 2 * time.Second
			p.w.delayFirst(calls(slow), func() time.Duration {
				a.frozen = time.Now().Add(takes.show)
				return takes.call
			})
			p.send(a.id)
			p.await("the end of its turn", 5*time.Minute, func() bool { return p.row(a).WorkStop > 0 })
		}))
	}
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
