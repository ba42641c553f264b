package stories

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// startPaneless makes a session register that runs outside tmux. end ends its process.
func (r *rig) startPaneless() (a daemon.Agent, end func()) {
	r.t.Helper()
	p := r.startPerson(nil)
	p.sendHook("SessionStart", "outside", tmux.PaneInfo{})
	return r.newestAgent(), p.end
}

// wantHandoffRefused requests a handoff, and fails unless the request is refused with this sentence.
func (r *rig) wantHandoffRefused(agentID int64, kind daemon.Kind, sentence string) {
	r.t.Helper()
	_, err := r.client.RequestHandoff(r.t.Context(), agentID, daemon.HandoffRequest{Force: true})
	wantError(r.t, err, kind, sentence)
}

// TestHandoffRequestsAreRefusedWithTheirSentences: The requests are refused with the contract's sentences, in the
// contract's order.
func TestHandoffRequestsAreRefusedWithTheirSentences(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		r.wantHandoffRefused(999, daemon.KindNotFound, "Agent not found")

		a, end := r.startPaneless()
		if a.Pane != nil || a.Persona != nil || a.State != daemon.Idle {
			t.Errorf("agent %+v: want one without pane and persona", a)
		}
		r.wantHandoffRefused(a.ID, daemon.KindInvalid, "Agent has no persona")
		_, err := r.client.SendMessage(t.Context(), a.ID, "hello", false)
		wantError(t, err, daemon.KindInvalid, "Agent has no tmux pane")
		if _, err := r.client.AssignPersona(t.Context(), a.ID, con); err != nil {
			t.Fatal(err)
		}
		r.wantHandoffRefused(a.ID, daemon.KindInvalid, "Agent has no tmux pane")
		r.wantKinds(a.ID) // There is no pane to type the skill into.
		end()
		r.awaitState(a.ID, daemon.Ended)
		r.wantHandoffRefused(a.ID, daemon.KindInvalid, "Agent is not active")

		bare := r.startAgent("")
		r.wantHandoffRefused(bare.ID, daemon.KindInvalid, "Agent has no persona")
		if _, err := r.client.StopAgent(t.Context(), bare.ID, false); err != nil {
			t.Fatal(err)
		}
		r.awaitState(bare.ID, daemon.Ended)
		r.wantHandoffRefused(bare.ID, daemon.KindInvalid, "Agent is not active")

		b := r.startAgent(con)
		release := r.holdTurn(b.ID, "@background")
		r.awaitState(b.ID, daemon.Idle)
		id := r.requestHandoff(b.ID)
		r.wantHandoffRefused(b.ID, daemon.KindConflict, "Handoff already in progress")
		r.awaitNote(id, "background tasks")
		r.wantHandoffRefused(b.ID, daemon.KindConflict, "Handoff already in progress")
		release()
		r.awaitPhase(id, daemon.Completed)
		r.wantHandoffRefused(b.ID, daemon.KindInvalid, "Agent is not active")
	})
}

// TestOneOfTwoRequestsStartsAHandoff: The other one gets 409, and the agent gets one instruction.
func TestOneOfTwoRequestsStartsAHandoff(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		release := r.holdTurn(a.ID, "long work")
		const rounds = 20
		for round := range rounds {
			results := make(chan error, 2)
			for range 2 {
				go func() {
					_, err := r.client.RequestHandoff(t.Context(), a.ID, daemon.HandoffRequest{Force: true})
					results <- err
				}()
			}
			first, second := <-results, <-results
			if first == nil {
				first, second = second, first
			}
			wantError(t, first, daemon.KindConflict, "Handoff already in progress")
			if second != nil {
				t.Fatalf("round %d: both requests were refused: %v", round, second)
			}
			if round < rounds-1 {
				if _, err := r.client.CancelHandoff(t.Context(), a.ID, 0); err != nil {
					t.Fatal(err)
				}
			}
		}
		release()
		h, err := r.client.LatestHandoff(t.Context(), a.ID)
		if err != nil {
			t.Fatal(err)
		}
		h = r.awaitPhase(h.ID, daemon.Completed)
		r.wantTold(a.ID, "long work", h.Ref)
		if n := len(r.eventsWhere(func(e event.Event) bool { return e.Type == "handoff_started" })); n != rounds {
			t.Errorf("%d handoffs were started, want %d", n, rounds)
		}
	})
}

// TestDocumentPathIsTheContracts: The daemon makes its folder.
func TestDocumentPathIsTheContracts(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		folder := r.dir.Handoffs(con)
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
		name, ok := strings.CutPrefix(h.FilePath, folder+"/")
		at, err := time.Parse("20060102T150405", strings.TrimSuffix(name, "-00000001.md"))
		if !ok || err != nil || a.ID != 1 || h.CreatedAt.Sub(at) > 2*time.Second || !filepath.IsAbs(h.FilePath) {
			t.Errorf("path %s of agent %d at %s (%v)", h.FilePath, a.ID, h.CreatedAt, err)
		}
		if want := data.ContextPath(h.FilePath); *h.ContextPath != want {
			t.Errorf("context %s, want %s", *h.ContextPath, want)
		}
	})
}

// TestHooksOfOtherProcessesChangeNothing: A hook counts only if the launch's own process sent it.
func TestHooksOfOtherProcessesChangeNothing(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		forge := func(event string) []hooks.Envelope {
			body := map[string]any{"session_id": "somebody-elses", "source": "startup", "reason": "logout", "prompt": "x"}
			stranger, child, nameless := r.newHook(a.ID, event, body), r.newHook(a.ID, event, body), r.newHook(a.ID, event, body)
			stranger.Launch, child.AgentPID, nameless.AgentPID = "foreign-0000000000000000", os.Getpid(), 0
			return []hooks.Envelope{stranger, child, nameless}
		}
		release := r.holdTurn(a.ID, "long work")
		id := r.requestHandoff(a.ID)
		r.awaitNote(id, noteBusyPart)
		before, agents := r.getAgent(a.ID), len(r.eventsWhere(func(e event.Event) bool { return e.Type == "agent_registered" }))
		for _, event := range []string{"SessionStart", "UserPromptSubmit", "Stop", "StopFailure", "SessionEnd"} {
			for _, env := range forge(event) {
				if out := r.sendHook(env); out != "" {
					t.Errorf("forged %s answered with %q", event, out)
				}
			}
		}
		if after := r.getAgent(a.ID); !reflect.DeepEqual(after, before) {
			t.Errorf("agent\n   was %+v\nand is %+v", before, after)
		}
		if h := r.getHandoff(id); h.Phase != daemon.Instructing {
			t.Errorf("phase %s after forged hooks, want instructing", h.Phase)
		}
		if n := len(r.eventsWhere(func(e event.Event) bool { return e.Type == "agent_registered" })); n != agents {
			t.Errorf("%d agents registered, want %d", n, agents)
		}
		// Hooks of an agent that has ended change nothing either.
		stale := r.newHook(a.ID, "SessionStart", map[string]any{"source": "resume"})
		release()
		h := r.awaitPhase(id, daemon.Completed)
		ended := r.awaitState(a.ID, daemon.Ended)
		next := r.awaitAgent(*h.SuccessorID, "idle, and its status line has told", func(a daemon.Agent) bool {
			return a.State == daemon.Idle && a.Context != nil
		})
		r.sendHook(stale)
		if now := r.getAgent(a.ID); !reflect.DeepEqual(now, ended) {
			t.Errorf("the ended agent\n   was %+v\nand is %+v", ended, now)
		}
		if now := r.getAgent(next.ID); !reflect.DeepEqual(now, next) {
			t.Errorf("successor\n   was %+v\nand is %+v", next, now)
		}
	})
}

// TestHooksOfAnAgentsChildChangeNothing: The child inherits the agent's environment.
func TestHooksOfAnAgentsChildChangeNothing(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("child-hooks")
		h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
		r.wantTold(a.ID, h.Ref)
		r.wantTold(*h.SuccessorID, h.Ref)
		next := r.awaitState(*h.SuccessorID, daemon.Idle)
		for _, id := range []int64{a.ID, next.ID} {
			if n := len(r.agentEvents(id, "agent_session_changed")) + len(r.agentEvents(id, "agent_registered")); n != 1 {
				t.Errorf("agent %d: %d registrations and changes of session, want 1", id, n)
			}
		}
		list, err := r.client.Agents(t.Context(), allRows)
		if err != nil || len(list) != 2 {
			t.Errorf("%d agents (%v), want 2", len(list), err)
		}
	})
}

// TestAgentIsFollowedToANewSession: The session id changes inside one pane. It is still the same agent.
func TestAgentIsFollowedToANewSession(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.personTypes(a.ID, "/clear", tmux.Enter)
		now := r.awaitAgent(a.ID, "another session", func(now daemon.Agent) bool { return *now.SessionID != *a.SessionID })
		if now.State != daemon.Idle || now.EndedAt != nil || !strings.Contains(*now.TranscriptPath, *now.SessionID) {
			t.Errorf("agent %+v: want it idle, in the new session", now)
		}
		h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
		r.wantTold(a.ID, h.Ref)
		if old := r.awaitState(a.ID, daemon.Ended); *old.SessionID != *now.SessionID {
			t.Errorf("session %s, want %s", *old.SessionID, *now.SessionID)
		}
	})
}
