package stories

import (
	"maps"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestHooksOfOhMyPi: what our extension in oh-my-pi tells becomes the agent's state, its use of the context window and, at
// the end of a turn, the instruction.
func TestHooksOfOhMyPi(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		tell := func(event string, body map[string]any) string {
			all := map[string]any{"session_file": *a.TranscriptPath, "turn_id": "t1"}
			maps.Copy(all, body)
			env := r.newHook(a.ID, event, all)
			env.Runtime = "omp"
			return r.sendHook(env)
		}
		want := func(state daemon.AgentState, waitsFor string) {
			t.Helper()
			if now := r.getAgent(a.ID); now.State != state || now.WaitsFor != waitsFor {
				t.Errorf("agent is %s for %q, want %s for %q", now.State, now.WaitsFor, state, waitsFor)
			}
		}
		tell("PromptTaken", map[string]any{"prompt": "list the rooms"})
		want(daemon.Working, "")
		tell("DialogOpened", map[string]any{"tool_name": "bash", "tool_input": map[string]any{"command": "ls"}})
		want(daemon.Waiting, "permission for bash: ls")
		tell("DialogClosed", nil)
		want(daemon.Working, "")
		tell("TurnEnded", map[string]any{"stop_reason": "aborted"})
		want(daemon.Idle, "")
		tell("DialogClosed", nil)
		want(daemon.Idle, "")

		tell("PromptTaken", map[string]any{"prompt": "count the rooms", "turn_id": "t2"})
		id := r.requestHandoff(a.ID)
		r.awaitNote(id, noteBusyPart)
		out := tell("TurnEnded", map[string]any{
			"stop_reason": "stop", "message": "Seven.", "turn_id": "t2", "usage": map[string]any{"tokens": 40_000, "window": 100_000},
		})
		if !strings.Contains(out, `"decision":"block"`) || !strings.Contains(out, instructed) {
			t.Errorf("the end of the turn is answered with %q", out)
		}
		now := r.getAgent(a.ID)
		if c := now.Context; c == nil || c.Tokens != 40_000 || c.Limit == nil || *c.Limit != 100_000 || c.Percent == nil || *c.Percent != 40 || c.Source != "hook" {
			t.Errorf("context %+v, want 40 %% of 100000", c)
		}
		if now.LastMessage != "Seven." {
			t.Errorf("last message %q", now.LastMessage)
		}
		if out := tell("Gossip", nil); out != "" {
			t.Errorf("an event that the daemon does not act on is answered with %q", out)
		}
	})
}
