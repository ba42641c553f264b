package stories

import (
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/commands"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
)

// ten is how far ahead the reset of most stories is. A text names whole minutes.
const ten = "usage-limit=10m"

// awaitLimitHandoff waits until the handoff that was requested because of the agent's limit is completed.
func awaitLimitHandoff(r *rig, agentID int64) daemon.Handoff {
	r.t.Helper()
	a := r.awaitAgent(agentID, "a handoff because of its limit", func(a daemon.Agent) bool { return a.Limit != nil && a.Limit.HandoffID != nil })
	return r.awaitPhase(*a.Limit.HandoffID, daemon.Completed)
}

// TestLimitHandsOverToTheFallback: The agent cannot write its document, so a one-shot of the fallback writes it from the
// transcript. The successor works on the fallback.
func TestLimitHandsOverToTheFallback(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		onLimit(r, daemon.LimitHandOver, fallback)
		f := recordForks(r)
		r.start()
		a := startSpokenTo(r)
		doTurn(r, a.ID, "@decide Use the small parser")
		r.misbehave(ten)
		r.awaitVerdict(a.ID, r.sendMessage(a.ID, "Now speed them up").ID, daemon.Submitted)
		h := awaitLimitHandoff(r, a.ID)
		r.misbehave("")
		if h.Reason != daemon.ReasonLimit || h.Mode != daemon.ModeTranscript || h.WrittenBy != daemon.WrittenByFallback || h.Degraded {
			t.Errorf("handoff %+v, want one because of the limit, written by the fallback", h)
		}
		if len(h.Warnings) == 0 || !strings.Contains(h.Warnings[0], "a one-shot of claude-work wrote it from the transcript") {
			t.Errorf("warnings %q", h.Warnings)
		}
		asked := f.prompts()
		if len(asked) != 1 || !strings.Contains(asked[0], h.Ref) || !strings.Contains(asked[0], "    Find out why the tests are slow\n") || !strings.Contains(asked[0], "    Now speed them up\n") {
			t.Errorf("the one-shot was asked %q", asked)
		}
		next := r.getAgent(*h.SuccessorID)
		if next.Runtime != fallback || next.Persona == nil || *next.Persona != con {
			t.Errorf("successor on %s as %v", next.Runtime, next.Persona)
		}
		if old := r.getAgent(a.ID); old.State != daemon.Ended || *old.EndReason != "prompt_input_exit" {
			t.Errorf("agent is %s (%v)", old.State, old.EndReason)
		}
		r.wantKinds(a.ID, daemon.KindMessage, daemon.KindMessage, daemon.KindMessage, daemon.KindExit)
		wantHandoffs(r, a.ID, 1)
	})
}

// TestLimitHandsOverWithoutAWriter: The one-shot fails as well. The daemon writes the document from what it knows, and says so.
func TestLimitHandsOverWithoutAWriter(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		onLimit(r, daemon.LimitHandOver, fallback).start()
		a := startSpokenTo(r)
		r.misbehave(ten + ",fork-error")
		r.awaitVerdict(a.ID, r.sendMessage(a.ID, "Now speed them up").ID, daemon.Submitted)
		h := awaitLimitHandoff(r, a.ID)
		if h.WrittenBy != daemon.WrittenByDaemon || !h.Degraded || len(h.Warnings) == 0 || !strings.Contains(h.Warnings[0], "nobody has judged it") {
			t.Errorf("handoff %+v, want one that the daemon wrote", h)
		}
		doc := r.readFile(h.FilePath)
		for _, part := range []string{"# Handoff assembled by understudy\n", "529 overloaded", "## What Was Done\n", "\n> Now speed them up\n"} {
			if !strings.Contains(doc, part) {
				t.Errorf("document has no %q:\n%s", part, doc)
			}
		}
	})
}

// TestLimitAsksIfTheFallbackIsLimited: The only fallback is limited as well, so a person is asked, who is told why. When they
// hand over to a runtime of their choice, that is done.
func TestLimitAsksIfTheFallbackIsLimited(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		onLimit(r, daemon.LimitHandOver, fallback).start()
		a := startSpokenTo(r)
		other := r.createAgent(agents.NewAgent{Persona: con, Cwd: r.work, Runtime: fallback, Name: "other"})
		r.awaitAgent(other.ID, "idle", func(a daemon.Agent) bool { return a.State == daemon.Idle && a.HasPane() })
		other = hitLimit(r, other.ID, ten)
		if l := other.Limit; l.Do != daemon.LimitAsk || !strings.Contains(l.Why, "no other runtime is named") {
			t.Errorf("limit of the agent on the fallback %+v, want a person asked", l)
		}
		a = hitLimit(r, a.ID, ten)
		if l := a.Limit; l.Do != daemon.LimitAsk || !strings.Contains(l.Why, "claude-work is limited until Jan 1 00:") {
			t.Errorf("limit %+v, want a person asked, because the fallback is limited", l)
		}
		s := sit(r, false, "agent", "limit", "1", "--hand-over")
		s.wantExit(commands.ExitFailed)
		s.awaitPrinted("Agent can't be handed over: claude-work is limited until .*--runtime", 1)
		sit(r, false, "agent", "limit", "1", "--hand-over", "--runtime", fallback).wantPrintedOnce("agent 1")
		h := awaitLimitHandoff(r, a.ID)
		if next := r.getAgent(*h.SuccessorID); next.Runtime != fallback {
			t.Errorf("successor on %s", next.Runtime)
		}
		wantHandoffs(r, a.ID, 1)
		wantHandoffs(r, other.ID, 0)
	})
}

// TestFullWindowHandsOverOnTheSameRuntime: The context window is full, and the runtime cannot compact. A successor on the same
// runtime has an empty one, so that no fallback is needed.
func TestFullWindowHandsOverOnTheSameRuntime(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		onLimit(r, daemon.LimitHandOver).start()
		a := startSpokenTo(r)
		r.misbehave("api-error=context_full")
		r.awaitVerdict(a.ID, r.sendMessage(a.ID, "Now speed them up").ID, daemon.Submitted)
		h := awaitLimitHandoff(r, a.ID)
		if next := r.getAgent(*h.SuccessorID); next.Runtime != "claude" || h.WrittenBy != daemon.WrittenByFallback {
			t.Errorf("successor on %s, document by %s", next.Runtime, h.WrittenBy)
		}
	})
}

// TestFullWindowCannotBeWaitedFor: The policy is to wait, which makes no room in a full window: a person is asked, and told why.
// A decision to wait is refused.
func TestFullWindowCannotBeWaitedFor(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		onLimit(r, daemon.LimitWait).start()
		a := hitLimit(r, startSpokenTo(r).ID, "api-error=context_full")
		if l := a.Limit; l.Kind != daemon.LimitContext || l.Do != daemon.LimitAsk || !strings.Contains(l.Why, "does not make room") {
			t.Errorf("limit %+v, want a person asked", l)
		}
		s := sit(r, false, "agent", "limit", "1", "--wait")
		s.wantExit(commands.ExitFailed)
		s.awaitPrinted("Waiting does not make room in a context window", 1)
		pass(10 * time.Minute)
		if n := toldToGoOn(r, a.ID); n != 0 {
			t.Errorf("the agent was prompted %d times", n)
		}
	})
}
