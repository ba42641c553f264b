package stories

import (
	"os"
	"reflect"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// TestHooksOfOtherProcessesChangeNothing: A hook counts only if the launch's own process sent it.
func TestHooksOfOtherProcessesChangeNothing(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		forge := func(event string) []hooks.Envelope {
			body := map[string]any{"session_id": "somebody-elses", "source": "startup", "reason": "logout", "prompt": "x"}
			stranger, child, nameless := newHook(r, a.ID, event, body), newHook(r, a.ID, event, body), newHook(r, a.ID, event, body)
			stranger.Launch, child.AgentPID, nameless.AgentPID = "foreign-0000000000000000", os.Getpid(), 0
			return []hooks.Envelope{stranger, child, nameless}
		}
		release := r.holdTurn(a.ID, "long work")
		id := r.requestHandoff(a.ID)
		r.awaitNote(id, noteBusyPart)
		before, agents := r.getAgent(a.ID), len(r.eventsWhere(func(e event.Event) bool { return e.Type == "agent_registered" }))
		for _, event := range []string{"SessionStart", "UserPromptSubmit", "Stop", "StopFailure", "SessionEnd"} {
			for _, env := range forge(event) {
				if out := sendHook(r, env); out != "" {
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
		stale := newHook(r, a.ID, "SessionStart", map[string]any{"source": "resume"})
		release()
		h := r.awaitPhase(id, daemon.Completed)
		ended := r.awaitState(a.ID, daemon.Ended)
		next := r.awaitAgent(*h.SuccessorID, "idle, its status line has told, and it has read", func(a daemon.Agent) bool {
			return a.State == daemon.Idle && a.Context != nil && a.ReadAt != nil
		})
		sendHook(r, stale)
		if now := r.getAgent(a.ID); !reflect.DeepEqual(now, ended) {
			t.Errorf("the ended agent\n   was %+v\nand is %+v", ended, now)
		}
		if now := r.getAgent(next.ID); !reflect.DeepEqual(now, next) {
			t.Errorf("successor\n   was %+v\nand is %+v", next, now)
		}
	})
}

// TestRepeatedSessionStartsInjectNothingTwice: Hooks may begin a session again in the same pane. The daemon injects
// nothing twice, and follows the agent through its session ids.
func TestRepeatedSessionStartsInjectNothingTwice(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
		id := *h.SuccessorID
		first := *r.awaitState(id, daemon.Idle).SessionID
		r.awaitShown(id, "I have taken over")

		r.personTypes(id, "/compact", tmux.Enter)
		r.awaitShown(id, "Compacted")
		r.wantTold(id, h.Ref)
		r.personTypes(id, "/clear", tmux.Enter)
		r.awaitAgent(id, "another session", func(a daemon.Agent) bool { return *a.SessionID != first })
		r.wantTold(id)
		r.personTypes(id, "/resume "+first, tmux.Enter)
		r.awaitAgent(id, "the first session", func(a daemon.Agent) bool { return *a.SessionID == first })
		r.awaitShown(id, "Resumed "+first)

		// The agent still works and was told each text once.
		dl := r.sendMessage(id, "carry on")
		r.awaitVerdict(id, dl.ID, daemon.Submitted)
		r.wantTold(id, h.Ref, "carry on")
		r.wantKinds(id, daemon.KindPrompt, daemon.KindMessage)
		if n := len(r.agentEvents(id, "agent_skill_injected")); n != 1 {
			t.Errorf("skill injected %d times", n)
		}
		if n := len(r.agentEvents(id, "agent_session_changed")); n != 2 {
			t.Errorf("session changed %d times, want 2", n)
		}
		if now := r.getHandoff(h.ID); now.Phase != daemon.Completed || !now.CompletedAt.Equal(*h.CompletedAt) {
			t.Errorf("handoff %+v: changed", now)
		}
	})
}
