//go:build e2e

package stories

import (
	"strings"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
)

// startsInAPipeline: a person who has never started the CLI is led through its questions, which no hook reports. They are answered by
// their choices, not by keys that somebody knows; the first arrow key may be lost, because the CLI has just drawn its dialog. The prompt
// of the step is typed after the questions, and is told unchanged, although the CLI folds it in its composer. What the agent says last is
// passed on.
func (r *claudeRig) startsInAPipeline() {
	const report = "## What Was Done\n\nThe roof is mended.\n\n## Next Agent Context\n\nLook at the chimney."
	r.api.SetScript(claudetest.Ask("Mend the roof", claudetest.Reply{Text: "I look first.", Tool: "Bash",
		Input: map[string]any{"command": "echo looked", "description": "look"}}, func(claudetest.Request) claudetest.Reply {
		return claudetest.Reply{Text: "\n\n" + report + "\n\n", Hold: true} // whoever is attached must see the composer before the agent has ended
	}))
	request := "Mend the roof.\n\n" + strings.Repeat("Grüße, \"日本\" $(touch touched) `x` \\ 👩‍🚀\n", 500) + "the end"
	id := startPipeline(r.rig, "one", request).ID
	a := r.getAgent(awaitPipelineThat(r.rig, id, "its agent", func(p daemon.Pipeline) bool { return len(p.Steps[0].AgentIDs) > 0 }).Steps[0].AgentIDs[0])
	r.answerAs(a.ID, "theme: which colours suit the terminal?", "Light mode")
	r.answerAs(a.ID, "security notes: press Enter to go on", "Press Enter to continue")
	awaitAsked(r.rig, a.ID, trusts)
	r.trustFolder(a)
	r.api.Await(r.t, "the tool's result", answered)
	r.api.Release()
	p := awaitPipeline(r.rig, id, daemon.PipelineDone)
	wantSteps(r.rig, p, "done")
	if left := p.Steps[0].LatestHandoff; left == nil || left.ContentMD != report || left.Metadata == nil {
		r.t.Errorf("the step left %+v, want %q with its fields", left, report)
	}
	r.wantToldFirst(a.ID, request)
	r.wantExited(a.ID, "prompt_input_exit")
	r.wantKinds(a.ID, daemon.KindMessage, daemon.KindExit)
	if asked := r.tap.of(a.ID, hooks.PermissionRequest); len(asked) > 0 {
		r.t.Errorf("the step asked for permission: %+v", asked)
	}
	if n := len(r.agentEvents(a.ID, "agent_failed")); n != 0 {
		r.t.Errorf("%d failures were told", n)
	}
	system := r.requests(a.ID)[0].SystemText()
	for _, part := range []string{"You play the persona " + *p.Steps[0].Persona, "You are step 1 of 1 "} {
		if !strings.Contains(system, part) {
			r.t.Errorf("the step's system prompt does not contain %q", part)
		}
	}
}

// wantToldFirst checks that an agent's only prompt is this text, byte for byte within the marks of pasted content. It looks at the agent's
// hook and at its model.
func (r *claudeRig) wantToldFirst(agentID int64, want string) {
	r.t.Helper()
	var prompts []string
	for _, s := range r.tap.of(agentID, hooks.UserPromptSubmit) {
		prompts = append(prompts, s.p.Prompt)
	}
	if len(prompts) != 1 || !strings.Contains(prompts[0], want) {
		r.t.Errorf("agent %d submitted %.600q, want %.300q", agentID, prompts, want)
	}
	if texts := r.requests(agentID)[0].UserTexts(); !strings.Contains(strings.Join(texts, "\n"), want) {
		r.t.Errorf("the model of agent %d was told %.600q, want %.300q", agentID, texts, want)
	}
}
