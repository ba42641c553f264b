//go:build e2e

package stories

import (
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
)

// TestClaudePipelinePassesPromptsUnchanged is a pipeline of two steps with the real CLI. Each agent is told its
// prompt unchanged, however long it is, and plays its persona. The second agent's prompt is the last message of the
// first. The first agent's prompt stands on the CLI's command line, and it survives the question whether the folder
// is trusted.
func TestClaudePipelinePassesPromptsUnchanged(t *testing.T) {
	t.Parallel()
	const report = "## What Was Done\n\nThe roof is mended.\n\n## Next Agent Context\n\nLook at the chimney."
	r := newClaudeRig(t, func(req claudetest.Request) claudetest.Reply {
		switch told := strings.Join(req.UserTexts(), "\n"); {
		case strings.Contains(told, "## Handoff from previous step"):
			return claudetest.Reply{Text: "The chimney leans."}
		case strings.Contains(told, "Mend the roof") && answered(req):
			return claudetest.Reply{Text: "\n\n" + report + "\n\n"}
		case strings.Contains(told, "Mend the roof"):
			return claudetest.Reply{Text: "I look first.", Tool: "Bash", Input: map[string]any{"command": "echo looked", "description": "look"}}
		}
		return claudetest.Reply{Text: "OK"}
	})
	r.home.Trust(t)
	writeTemplate(r.rig, "two", "developer", "reviewer | prompt: Look closely.")
	r.start()
	request := " \tMend the roof.\r\n\n" + strings.Repeat("Grüße, \"日本\" $(touch touched) `x` \\ 👩‍🚀\n", 500) + "\n "
	id := startPipeline(r.rig, "two", request).ID
	first := awaitPipelineThat(r.rig, id, "its agent", func(p daemon.Pipeline) bool { return len(p.Steps[0].AgentIDs) > 0 }).Steps[0].AgentIDs[0]
	r.answerAs(first, trusts, "Yes")
	p := awaitPipeline(r.rig, id, daemon.PipelineDone)
	wantSteps(r.rig, p, "done done")

	left := p.Steps[0].LatestHandoff
	if left == nil || left.ContentMD != report || left.Metadata == nil {
		t.Fatalf("step 1 left %+v, want %q with its fields", left, report)
	}
	second := (*daemon.Structured)(left.Metadata).Header("developer") + "\n\nLook closely.\n\n## Original request\n\n" + request
	for i, want := range []string{request, second} {
		s := p.Steps[i]
		id := s.AgentIDs[0]
		r.wantToldFirst(id, want)
		r.wantExited(id, "prompt_input_exit")
		r.wantKinds(id, daemon.KindExit)
		if asked := r.tap.of(id, hooks.PermissionRequest); len(asked) > 0 {
			t.Errorf("step %d asked for permission: %+v", i+1, asked)
		}
		// Only the first step waits, for the question about the folder.
		if n := len(r.agentEvents(id, "agent_waiting")); n != 1-i {
			t.Errorf("step %d waited %d times for a person, want %d", i+1, n, 1-i)
		}
		system := r.requests(id)[0].SystemText()
		for _, part := range []string{"You play the persona " + *s.Persona, []string{"You are step 1 of 2 ", "You are step 2 of 2 "}[i]} {
			if !strings.Contains(system, part) {
				t.Errorf("the system prompt of step %d does not contain %q", i+1, part)
			}
		}
	}
	if got := p.Steps[1].LatestHandoff; got == nil || got.ContentMD != "The chimney leans." || got.Metadata != nil {
		t.Errorf("step 2 left %+v", got)
	}
}

// wantToldFirst checks that an agent's only prompt is this text byte for byte, without a wrapper. It looks at the
// agent's hook and at its model.
func (r *claudeRig) wantToldFirst(agentID int64, want string) {
	r.t.Helper()
	var prompts []string
	for _, s := range r.tap.of(agentID, hooks.UserPromptSubmit) {
		prompts = append(prompts, s.p.Prompt)
	}
	if !slices.Equal(prompts, []string{want}) {
		r.t.Errorf("agent %d submitted %.600q, want %.300q", agentID, prompts, want)
	}
	if texts := r.requests(agentID)[0].UserTexts(); !slices.Contains(texts, want) {
		r.t.Errorf("the model of agent %d was told %.600q, want %.300q", agentID, texts, want)
	}
}
