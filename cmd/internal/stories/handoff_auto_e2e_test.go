//go:build e2e

package stories

import (
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// TestAutoNeedsAKnownContextLimit: Of an agent that a person started, the daemon knows only the tokens, from its
// transcript. It shows them, requests no handoff, and says once that it cannot. The tokens of sub-agents do not
// count.
func TestAutoNeedsAKnownContextLimit(t *testing.T) {
	t.Parallel()
	r := enableAuto(newRig(t))
	looks := countLooks(r)
	r.start()
	a, _ := startForeignAgent(r, tmuxtest.Server(t), "")
	r.assignPersona(a.ID, con)
	r.awaitAgent(a.ID, "skill", func(a daemon.Agent) bool { return a.SkillInjectedAt != nil && a.State == daemon.Idle })
	backdateRegistration(r, a.ID)
	use := fillContext(r, a.ID, 760_000)
	if use.Limit != nil || use.Percent != nil || use.Tier != "" || use.Source != "transcript" {
		t.Errorf("context %+v, want tokens alone", use)
	}
	wantAlerts(r, a.ID, "agent_context_unknown", 1, "understudy agent start")

	a = r.getAgent(a.ID)
	r.appendLine(*a.TranscriptPath, map[string]any{
		"type": "assistant", "isSidechain": true, "uuid": "side", "sessionId": *a.SessionID, "message": map[string]any{
			"id": "msg_side", "role": "assistant", "model": "claude-opus-5-5", "content": []any{map[string]any{"type": "text", "text": "Sub."}},
			"usage": map[string]any{"input_tokens": 990_000, "output_tokens": 1},
		},
	})
	for _, event := range []string{"UserPromptSubmit", "Stop", "PostToolUse"} {
		before := looks.Load()
		spoolHooks(r, newForeignHook(r, a, event))
		r.await("a look at the agent", func() (bool, string) { return looks.Load() > before, "" })
	}
	if now := r.awaitState(a.ID, daemon.Idle); now.Context == nil || now.Context.Tokens != 760_000 {
		t.Errorf("context %+v: want what the agent itself has used", now.Context)
	}
	wantHandoffs(r, a.ID, 0)
	fillContext(r, a.ID, 800_000)
	wantHandoffs(r, a.ID, 0)
	wantAlerts(r, a.ID, "agent_context_unknown", 1, "")
	wantTiers(r, a.ID)
}
