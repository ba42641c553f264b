package stories

import (
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
)

// refusedAtOnce is within what time a refused prompt must be known.
const refusedAtOnce = 5 * time.Second

// wantRefused waits for the verdict of a prompt that another hook has refused, and checks that nothing of it is left.
func (r *rig) wantRefused(agentID, deliveryID int64) {
	r.t.Helper()
	began := time.Now()
	dl := r.awaitVerdict(agentID, deliveryID, daemon.NotSubmitted)
	if took := time.Since(began); took > refusedAtOnce || !strings.Contains(dl.Evidence, "the gate is closed") {
		r.t.Errorf("known after %v, by %q; want it at once, with the reason", took, dl.Evidence)
	}
	r.await("an empty composer", func() (bool, string) {
		shown := r.shown(agentID)
		s := claude.Runtime.ReadScreen(runtimes.View{Text: shown})
		return s.Composer && s.Draft == "", shown
	})
	r.awaitState(agentID, daemon.Idle)
}

// TestRefusedPromptIsNotSubmitted: another hook of the user's refuses a prompt that the daemon has typed. The model never sees it.
func TestRefusedPromptIsNotSubmitted(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"short": "please do this", "long": "long\n" + strings.Repeat("words and words ", 90)} {
		for _, how := range []string{"refuse-prompt", "refuse-prompt=3s"} {
			t.Run(name+" "+how, func(t *testing.T) {
				story(t, func(t *testing.T, r *rig) {
					r.start()
					a := r.startAgent("")
					r.misbehave(how)
					r.wantRefused(a.ID, r.sendMessage(a.ID, text).ID)
					r.misbehave("")
					r.awaitVerdict(a.ID, r.sendMessage(a.ID, "the next one").ID, daemon.Submitted)
					r.wantTold(a.ID, "the next one")
				})
			})
		}
	}
}

// TestRefusedInstructionEndsTheHandoff: the handoff that waits for a refused instruction fails at once, and the agent lives.
func TestRefusedInstructionEndsTheHandoff(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("refuse-prompt")
		began := time.Now()
		h := r.awaitFailure(r.requestHandoff(a.ID), daemon.Instructing, "instruction_not_submitted")
		if took := time.Since(began); took > refusedAtOnce || !strings.Contains(h.Error.Message, "the gate is closed") {
			t.Errorf("it failed after %v: %s", took, h.Error.Message)
		}
		r.misbehave("")
		r.retryHandoff(h.ID)
		r.awaitPhase(h.ID, daemon.Completed)
	})
}

// TestRefusedBriefingEndsTheHandoff: the successor's injection prompt is refused.
func TestRefusedBriefingEndsTheHandoff(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.awaitVerdict(a.ID, r.sendMessage(a.ID, "some work").ID, daemon.Submitted)
		r.awaitState(a.ID, daemon.Idle)
		h := r.requestHandoff(a.ID)
		r.awaitPhase(h, daemon.AwaitingRegistration)
		r.misbehave("refuse-prompt")
		failed := r.awaitFailure(h, daemon.Briefing, "prompt_not_submitted")
		if !strings.Contains(failed.Error.Message, "the gate is closed") {
			t.Errorf("it failed: %s", failed.Error.Message)
		}
		r.misbehave("")
		r.retryHandoff(h)
		r.awaitPhase(h, daemon.Completed)
	})
}

// TestRefusedPromptOfAStepFailsIt: the prompt on the command line of a step's agent is refused.
func TestRefusedPromptOfAStepFailsIt(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.writeTemplate("two", "developer", "reviewer")
		r.start()
		r.misbehave("refuse-prompt")
		began := time.Now()
		p := r.awaitPipeline(r.startPipeline("two", "Mend the roof.").ID, daemon.PipelineFailed)
		if took := time.Since(began); took > 2*refusedAtOnce || p.Error == nil || !strings.Contains(*p.Error, "the gate is closed") {
			t.Errorf("it failed after %v: %s", took, *p.Error)
		}
	})
}

// TestFirstTextThatTheStartHoldsIsTypedOnce: another hook of the session's start runs for a minute, and the session keeps what is typed
// until then. That is part of the start: nothing fails, and nothing is typed twice.
func TestFirstTextThatTheStartHoldsIsTypedOnce(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.AckTimeout = 5 * time.Second
		r.start()
		r.misbehave("held-prompt=25s")
		a := r.startAgent("")
		r.awaitVerdict(a.ID, r.sendMessage(a.ID, "the first text").ID, daemon.Submitted)
		r.wantTold(a.ID, "the first text")
	})
}
