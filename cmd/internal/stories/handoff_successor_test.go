package stories

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
)

// wantOneLive fails unless exactly one successor of the agent lives, and it is the handoff's.
func (r *rig) wantOneLive(agentID int64, h daemon.Handoff) {
	r.t.Helper()
	var live []int64
	for _, a := range r.successors(agentID) {
		if a.EndedAt == nil {
			live = append(live, a.ID)
		}
	}
	if len(live) != 1 || live[0] != *h.SuccessorID {
		r.t.Errorf("agents %v live after agent %d, want only %d", live, agentID, *h.SuccessorID)
	}
}

// wantRecord fails unless the handoff still has its record.
func (r *rig) wantRecord(before, after daemon.Handoff) {
	r.t.Helper()
	if after.RecordedAt == nil || before.RecordedAt == nil || !after.RecordedAt.Equal(*before.RecordedAt) ||
		*after.InjectionPrompt != *before.InjectionPrompt || *after.ContextChecksum != *before.ContextChecksum {
		r.t.Errorf("record\n   was %+v\nand is %+v", before, after)
	}
}

// TestCrashedSuccessorIsReplacedByARetry: A successor that ends before it registers fails the handoff, and the
// failure shows its pane. A retry starts another successor.
func TestCrashedSuccessorIsReplacedByARetry(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("crash-at-start")
		failed := r.awaitFailure(r.requestHandoff(a.ID), daemon.AwaitingRegistration, "successor_gone")
		if !strings.Contains(failed.Error.Message, "scripted crash at start") || !strings.Contains(failed.Error.Message, "record is kept") {
			t.Errorf("failure %q names neither the screen nor the record\n%s", failed.Error.Message, r.report())
		}
		// Only a retry can hand over what was recorded.
		_, err := r.client.RequestHandoff(t.Context(), a.ID, handoffs.HandoffRequest{Force: true})
		wantError(t, err, daemon.KindInvalid, "Agent is not active")

		r.misbehave("")
		r.retryHandoff(failed.ID)
		h := r.awaitPhase(failed.ID, daemon.Completed)
		r.wantRecord(failed, h)
		if n := len(r.successors(a.ID)); n != 2 || *h.SuccessorID == *failed.SuccessorID {
			t.Errorf("%d successors, want the one that crashed and a fresh one", n)
		}
		r.wantOneLive(a.ID, h)
		r.wantTold(a.ID, instructed)
		r.wantTold(*h.SuccessorID, h.Ref)
	})
}

// TestUnregisteredSuccessorIsLeftToAPerson: A person can look at a successor that does not register in time. Once it
// is out of the way, a retry starts another.
func TestUnregisteredSuccessorIsLeftToAPerson(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.RegistrationTimeout = 1500 * time.Millisecond
		r.start()
		a := r.startAgent(con)
		r.misbehave("no-session-start")
		failed := r.awaitFailure(r.requestHandoff(a.ID), daemon.AwaitingRegistration, "registration_timeout")
		if !strings.Contains(failed.Error.Message, "1.5s") || !strings.Contains(failed.Error.Message, "its pane shows") {
			t.Errorf("failure %q names neither the limit nor the screen", failed.Error.Message)
		}
		r.awaitShown(*failed.SuccessorID, "❯\u00a0")
		r.stopAgent(*failed.SuccessorID, true)
		r.awaitState(*failed.SuccessorID, daemon.Ended)
		r.misbehave("")
		r.retryHandoff(failed.ID)
		h := r.awaitPhase(failed.ID, daemon.Completed)
		r.wantRecord(failed, h)
		r.wantOneLive(a.ID, h)
		r.wantTold(*h.SuccessorID, h.Ref)
	})
}

// TestRetryGoesOnWithALateSuccessor: The successor registers after the deadline.
func TestRetryGoesOnWithALateSuccessor(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.RegistrationTimeout = 1000 * time.Millisecond
		r.start()
		a := r.startAgent(con)
		r.misbehave("slow-start=2500ms")
		failed := r.awaitFailure(r.requestHandoff(a.ID), daemon.AwaitingRegistration, "registration_timeout")
		r.awaitState(*failed.SuccessorID, daemon.Idle)
		if h := r.getHandoff(failed.ID); h.Phase != daemon.Failed {
			t.Errorf("handoff went on by itself: %s", h.Phase)
		}
		r.retryHandoff(failed.ID)
		h := r.awaitPhase(failed.ID, daemon.Completed)
		if *h.SuccessorID != *failed.SuccessorID || len(r.successors(a.ID)) != 1 {
			t.Errorf("successor %d after %d, want the same", *h.SuccessorID, *failed.SuccessorID)
		}
		r.wantTold(*h.SuccessorID, h.Ref)
	})
}

// TestSuccessorInAMissingFolderFails: The folder in which the successor is to work is gone.
func TestSuccessorInAMissingFolderFails(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.ExitTimeout = 1000 * time.Millisecond
		r.start()
		a := r.startAgent(con)
		r.misbehave("ignore-exit")
		id := r.requestHandoff(a.ID)
		r.awaitPhase(id, daemon.ShuttingDown)
		// Until the agent is asked to exit, the daemon would find out in time.
		r.await("the agent is asked to exit", func() (bool, string) { return len(r.agentEvents(a.ID, "agent_stopping")) > 0, "it is not" })
		if err := os.Rename(r.work, r.work+".away"); err != nil {
			t.Fatal(err)
		}
		failed := r.awaitFailure(id, daemon.Spawning, "spawn_failed")
		if !strings.Contains(failed.Error.Message, r.work) {
			t.Errorf("failure %q does not name %s", failed.Error.Message, r.work)
		}
		r.misbehave("")
		if err := os.Rename(r.work+".away", r.work); err != nil {
			t.Fatal(err)
		}
		r.retryHandoff(id)
		h := r.awaitPhase(id, daemon.Completed)
		r.wantRecord(failed, h)
		r.wantOneLive(a.ID, h)
	})
}

// TestRecordIsRestoredByteForByte: The successor gets exactly the recorded bytes. A retry writes again what was
// changed or removed meanwhile. A person's own edit of the document stays.
func TestRecordIsRestoredByteForByte(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("crash-at-start")
		h := r.awaitFailure(r.requestHandoff(a.ID), daemon.AwaitingRegistration, "successor_gone")
		document, context := r.readFile(h.FilePath), r.readFile(*h.ContextPath)
		if err := os.WriteFile(*h.ContextPath, []byte("another"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(h.FilePath); err != nil {
			t.Fatal(err)
		}
		if b, err := r.client.Document(t.Context(), h.ID); err != nil || string(b) != document {
			t.Errorf("document from the record: %v: %.80q", err, b)
		}
		r.retryHandoff(h.ID)
		h = r.awaitFailure(h.ID, daemon.AwaitingRegistration, "successor_gone")
		if r.readFile(h.FilePath) != document || r.readFile(*h.ContextPath) != context {
			t.Error("the retry did not write document and context anew from the record")
		}
		if err := os.WriteFile(h.FilePath, []byte("# Another\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(*h.ContextPath); err != nil {
			t.Fatal(err)
		}
		r.misbehave("")
		r.retryHandoff(h.ID)
		r.awaitPhase(h.ID, daemon.Completed)
		if r.readFile(h.FilePath) != "# Another\n" || r.readFile(*h.ContextPath) != context {
			t.Error("the context was not written anew, or the person's edit was undone")
		}
	})
}

// TestUnbriefedSuccessorIsReplacedByARetry: It ended before it took the injection prompt.
func TestUnbriefedSuccessorIsReplacedByARetry(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.Background = string(daemon.BackgroundWait)
		r.start()
		a := r.startAgent(con)
		h, release := r.handOffBehindTasks(a.ID)
		r.misbehave("slow-start=1500ms")
		release()
		r.awaitPhase(h.ID, daemon.AwaitingRegistration)
		h = r.getHandoff(h.ID)
		r.stopAgent(*h.SuccessorID, true)
		failed := r.awaitFailure(h.ID, daemon.AwaitingRegistration, "successor_gone")
		r.misbehave("")
		r.retryHandoff(h.ID)
		h = r.awaitPhase(h.ID, daemon.Completed)
		r.wantRecord(failed, h)
		r.wantOneLive(a.ID, h)
	})
}

// TestSkillComesBeforeTheInjectionPrompt: Both the event log and what the model got show this order.
func TestSkillComesBeforeTheInjectionPrompt(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		experience := filepath.Join(r.dir.Persona(con), "experience.md")
		if err := os.WriteFile(experience, []byte("The build takes a flag.\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r.await("the experience in the skill", func() (bool, string) {
			p, err := r.client.Persona(t.Context(), con)
			return err == nil && strings.Contains(p.Experience, "takes a flag"), "not loaded"
		})
		h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
		next := r.awaitState(*h.SuccessorID, daemon.Idle)
		if next.SkillInjectedAt == nil || next.RegisteredAt == nil || h.CompletedAt.Before(*next.SkillInjectedAt) {
			t.Errorf("successor %+v: want the skill before %s", next, h.CompletedAt)
		}
		skill, prompt := r.agentEvents(next.ID, "agent_skill_injected"), r.agentEvents(next.ID, "delivery_submitted")
		if len(skill) != 1 || len(prompt) != 1 || skill[0].ID > prompt[0].ID {
			t.Errorf("skill %v, prompt %v: want one each, in this order", skill, prompt)
		}
		got := r.transcript(next.ID)
		if len(got) < 2 || got[0].Subtype != "append_system_prompt" || got[1].Type != "user" {
			t.Fatalf("transcript begins with %.3v, want the skill and then the prompt", got)
		}
		text, _ := got[0].Content.(string)
		for _, part := range []string{con, "The build takes a flag."} {
			if !strings.Contains(text, part) {
				t.Errorf("system prompt %.200q does not contain %q", text, part)
			}
		}
		if got[1].Message.Content != *h.InjectionPrompt {
			t.Errorf("first prompt %q, want the one in the record, verbatim: %q", got[1].Message.Content, *h.InjectionPrompt)
		}
		r.awaitShown(next.ID, "I have taken over")
	})
}

// TestSuccessorIsNotDisturbedBeforeItsBriefing: Until the successor was told what it takes over, it cannot be handed
// over, its predecessor's session cannot be opened again, and the daemon types no message before the injection
// prompt.
func TestSuccessorIsNotDisturbedBeforeItsBriefing(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g := newGate(t)
		var armed atomic.Bool
		r.bendWith(&bend{hook: func(in daemon.HookInput, do func() (daemon.HookResult, error)) (daemon.HookResult, error) {
			if in.Event == "SessionStart" && armed.Load() {
				g.pass()
			}
			return do()
		}}).start()
		a := r.startAgent(con)
		armed.Store(true)
		id := r.requestHandoff(a.ID)
		next := *r.awaitPhase(id, daemon.AwaitingRegistration).SuccessorID
		r.wantHandoffRefused(next, daemon.KindConflict, "Handoff already in progress")
		_, err := r.client.ResumeAgent(t.Context(), a.ID)
		wantCode(t, err, "handoff_in_progress")
		dl := r.sendMessage(next, "first things first")
		g.goOn()

		h := r.awaitPhase(id, daemon.Completed)
		r.awaitVerdict(next, dl.ID, daemon.Submitted)
		r.wantTold(next, h.Ref, "first things first")
		r.awaitState(next, daemon.Idle)
		_, err = r.client.ResumeAgent(t.Context(), a.ID)
		wantCode(t, err, "agent_resumed") // Its successor has its work now.
		r.awaitPhase(r.requestHandoff(next), daemon.Completed)
		if n := len(r.successors(a.ID)); n != 1 {
			t.Errorf("%d successors, want 1", n)
		}
	})
}
