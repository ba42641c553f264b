package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/commands"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/data"
)

// briefed is in each injection prompt.
const briefed = "you take over from agent"

// TestMessagesGoToTheSuccessor: what is queued before the record, and what is sent after it, also to the agent that has ended
// meanwhile, is given to the successor after its briefing, in order. A command is about the session that ends: it is dropped with
// an alert, and refused after the record.
func TestMessagesGoToTheSuccessor(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.Background = string(daemon.BackgroundWait)
		r.start()
		a := r.startAgent(con)
		release := r.holdTurn(a.ID, "@background")
		r.awaitState(a.ID, daemon.Idle)
		id := r.handOffWhileWriting(a.ID)
		first := r.sendMessage(a.ID, "before the record")
		command, err := r.client.SendMessage(t.Context(), a.ID, "/compact", true)
		if err != nil {
			t.Fatal(err)
		}
		r.misbehave("slow-start=2s")
		if got := r.awaitVerdict(a.ID, command.ID, daemon.NotSubmitted); got.Evidence != "the agent's handoff was recorded" {
			t.Errorf("the evidence of the command is %q", got.Evidence)
		}
		r.awaitNote(id, "background tasks")
		_, err = r.client.SendMessage(t.Context(), a.ID, "/compact", true)
		wantCode(t, err, "handoff_recorded")
		if got := r.sendMessage(a.ID, "after the record"); got.AgentID != a.ID || got.Evidence != "it waits for the agent's successor" {
			t.Errorf("after the record: %+v", got)
		}
		release()
		r.awaitPhase(id, daemon.AwaitingRegistration)
		last := r.sendMessage(a.ID, "after the end")
		h := r.awaitPhase(id, daemon.Completed)
		r.awaitVerdict(a.ID, last.ID, daemon.Submitted)
		r.wantTold(a.ID, "@background", instructed, "<task-notification>")
		r.wantTold(*h.SuccessorID, briefed, "before the record", "after the record", "after the end")
		for _, d := range r.deliveries(a.ID) {
			if d.Kind == daemon.KindMessage && d.ID >= first.ID && (d.AgentID != *h.SuccessorID || d.PassedFrom == nil || *d.PassedFrom != a.ID) {
				t.Errorf("delivery %+v", d)
			}
		}
		if n := len(r.handoffEvents(id, "delivery_passed_on")); n != 3 {
			t.Errorf("%d events of messages that were passed on", n)
		}
		_, err = r.client.SendMessage(t.Context(), a.ID, "still there?", false)
		wantError(t, err, daemon.KindInvalid, "Agent is not active")
	})
}

// TestMessagesAreDroppedIfAskedFor: the operator can have the queued messages dropped. The events say so, without an alert; and
// what is sent after the record is refused.
func TestMessagesAreDroppedIfAskedFor(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("think=1m")
		begun, err := r.client.RequestHandoff(t.Context(), a.ID, handoffs.HandoffRequest{DropMessages: true, Force: true})
		if err != nil {
			t.Fatal(err)
		}
		r.awaitPhase(begun.HandoffID, daemon.AwaitingDocument)
		dl := r.sendMessage(a.ID, "too late for you")
		r.misbehave("")
		r.awaitVerdict(a.ID, dl.ID, daemon.NotSubmitted)
		for _, e := range r.eventsWhere(func(e event.Event) bool { return e.Type == event.DeliveryNotSubmitted }) {
			if e.Alert {
				t.Errorf("an alert: %s", e.Words())
			}
		}
		h := r.awaitPhase(begun.HandoffID, daemon.Completed)
		r.wantTold(*h.SuccessorID, briefed)
	})
}

// TestMessagesOfAFailedHandoff: the successor can't be started, so the handoff fails after the outgoing agent has ended. Its
// messages wait, and the failure says so. They go with the work, here to the agent that opens the session again. If nobody goes
// on, the operator is told after a week.
func TestMessagesOfAFailedHandoff(t *testing.T) {
	t.Parallel()
	for name, resumed := range map[string]bool{"resumed": true, "left alone": false} {
		t.Run(name, func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				r.start()
				a := r.startAgent(con)
				id := r.handOffWhileWriting(a.ID)
				dl := r.sendMessage(a.ID, oneMore)
				r.misbehave("crash-at-start")
				r.awaitFailure(id, daemon.AwaitingRegistration, string(daemon.CodeSuccessorGone))
				r.misbehave("")
				told := field(t, r.handoffEvents(id, "handoff_failed")[0], "message").(string)
				if want := "The successor of agent 1 gets 1 message that it has not got: `understudy agent messages 1`."; !strings.HasSuffix(told, want) {
					t.Errorf("the failure says %q", told)
				}
				if !resumed {
					r.halt()
					pass(6 * 24 * time.Hour)
					r.start()
					pass(time.Minute)
					if slices.ContainsFunc(r.deliveries(a.ID), func(d daemon.Delivery) bool { return d.ID == dl.ID && !d.Open() }) {
						t.Error("the message waited for less than six days")
					}
					r.halt()
					pass(24 * time.Hour)
					r.start()
					r.awaitVerdict(a.ID, dl.ID, daemon.NotSubmitted)
					r.wantToldOnce(a.ID, dl.ID)
					return
				}
				next, err := r.client.ResumeAgent(t.Context(), a.ID)
				if err != nil {
					t.Fatal(err)
				}
				r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
				r.wantTold(next.ID, instructed, oneMore) // its session has the instruction
			})
		})
	}
}

// TestGeneratedDocumentThatSaysNothing: it stops the handoff before anything is ended. A retry has another one written; with force
// the document is taken.
func TestGeneratedDocumentThatSaysNothing(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.MinWords = 5000
		r.start()
		a := r.startAgent(con)
		r.doTurn(a.ID, "mend the fence")
		id := r.requestGenerate(a.ID, "")
		stopped := func() (document string) {
			h := r.awaitPhase(id, daemon.Failed)
			if h.Error.Code != data.DocumentSaysNothing || h.RecordedAt != nil || r.getAgent(a.ID).State != daemon.Idle {
				t.Fatalf("handoff %d: %+v, recorded %v", id, h.Error, h.RecordedAt)
			}
			if !strings.Contains(h.Error.Message, "words beside its headings, fewer than 5000") || !strings.Contains(h.Error.Hint, "`--force`") {
				t.Errorf("the failure says %q %q", h.Error.Message, h.Error.Hint)
			}
			dateFile(h.FilePath) // the daemon itself has written it, so its time is that of the machine
			return r.readFile(h.FilePath)
		}
		stopped()
		r.retryHandoff(id)
		second := stopped()
		if _, err := r.client.RetryHandoffAs(t.Context(), id, handoffs.Retry{Force: true}); err != nil {
			t.Fatal(err)
		}
		if h := r.awaitPhase(id, daemon.Completed); !h.Forced || r.readFile(h.FilePath) != second {
			t.Errorf("forced %t; the document is not the one that was there", h.Forced)
		}
	})
}

// TestAgentMessages: the command shows what is queued and what became of the rest, and cancels what is queued.
func TestAgentMessages(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		release := r.holdTurn(a.ID, "long work")
		first, second := r.sendMessage(a.ID, "mend the fence"), r.sendMessage(a.ID, "mend the roof")
		agent := fmt.Sprint(a.ID)
		r.sit(false, "agent", "messages", agent).wantPrintedOnce("2 texts queued: `understudy agent messages 1 --cancel ID")
		r.sit(false, "agent", "messages", agent, "--cancel", fmt.Sprint(first.ID)).wantPrintedOnce("is cancelled: mend the fence")
		again := r.sit(false, "agent", "messages", agent, "--cancel", fmt.Sprint(first.ID))
		if <-again.ended; again.code == commands.ExitDone || !strings.Contains(again.shown(), "can no longer be cancelled") {
			t.Errorf("cancelled twice: %s", again.shown())
		}
		release()
		r.awaitVerdict(a.ID, second.ID, daemon.Submitted)
		r.wantTold(a.ID, "long work", "mend the roof")
		r.sit(false, "agent", "messages", agent, "--cancel", "all").wantPrintedOnce("nothing is queued for agent 1")
		r.sit(false, "agent", "messages", agent).wantPrintedOnce("cancelled by the operator")
	})
}

// TestMessagesOfAnAgentThatDied: what is queued for an agent that dies waits for whoever opens its session again, also over a restart
// of the daemon. If the agent is dismissed instead, the operator is told that nobody got it.
func TestMessagesOfAnAgentThatDied(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a, b := r.startWorked(con), r.startWorked("tester-kit-1")
		var queued []daemon.Delivery
		for _, g := range []daemon.Agent{a, b} {
			r.holdTurn(g.ID, "one thing")
			queued = append(queued, r.sendMessage(g.ID, "and another"))
		}
		r.killTmux()
		for _, g := range []daemon.Agent{a, b} {
			r.awaitState(g.ID, daemon.Ended)
		}
		pass(10 * time.Minute)
		r.halt()
		r.start()
		pass(time.Minute)
		next, err := r.client.ResumeAgent(t.Context(), a.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.awaitVerdict(next.ID, queued[0].ID, daemon.Submitted); got.PassedFrom == nil || *got.PassedFrom != a.ID {
			t.Errorf("the message of the agent that was resumed: %+v", got)
		}
		if got := r.deliveries(b.ID); got[len(got)-1].State != daemon.DeliveryQueued {
			t.Errorf("the message of the agent that nobody has resumed: %+v", got[len(got)-1])
		}
		if _, err := r.client.DismissAgent(t.Context(), b.ID); err != nil {
			t.Fatal(err)
		}
		r.awaitVerdict(b.ID, queued[1].ID, daemon.NotSubmitted)
		r.wantToldOnce(b.ID, queued[1].ID)
	})
}
