package scripted

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/actor"
)

var headingLine = regexp.MustCompile(`(?m)^#+ (.+)$`)

func TestHeadingsOfDocuments(t *testing.T) {
	t.Parallel()
	r := ready(t, "")
	request := strings.TrimSuffix(r.document(), ".md") + ".request.md"
	must(t, os.WriteFile(request, []byte("# How\n\n- **## Code Patterns**: y\n\n## Focus\n\nx\n"), 0o644))
	r.prompt("Hand over. First read " + request + ". Then write a handoff document to " + r.document() +
		" under exactly these headings: ## What Was Done, ## Decisions Made, ## Open Questions, ## Next Agent Context, ## current_story. @decide Use tabs: gofmt does")
	r.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop")
	text := value(os.ReadFile(r.document()))(t)
	var got []string
	for _, found := range headingLine.FindAllStringSubmatch(string(text), -1) {
		got = append(got, found[1])
	}
	const want = "Handoff from developer-con-1|What Was Done|Decisions Made|Open Questions|Next Agent Context|current_story|Code Patterns"
	if strings.Join(got, "|") != want || !strings.Contains(string(text), "\n- Use tabs: gofmt does\n") {
		t.Errorf("headings %q, want %q, in:\n%s", got, want, text)
	}
}

func TestHandoffCommand(t *testing.T) {
	t.Parallel()
	for name, busy := range map[string]bool{"idle": false, "busy": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := ready(t, "")
			want := []string{"SessionStart(startup)"}
			if busy {
				r.send("@hold " + r.dir + "/go\r")
				// The transcript begins when the hook has ended, which is the one that takes an answer.
				r.eventually("prompt sent", func() bool { return len(r.log()) == 2 && actor.IsFile(r.log()[1].field("transcript_path")) })
				want = append(want, "UserPromptSubmit", "Stop")
			}
			r.write("answers/UserPromptSubmit", `{"decision":"block","reason":"Handoff 7 started"}`)
			r.send("/handoff fix the \"x\" $(date)\r")
			if busy {
				r.sees("Queued: /handoff")
				r.write("go", "")
			}
			log := r.hooks(append(want, "UserPromptSubmit")...)
			equal(t, "prompt", log[len(log)-1].field("prompt"), `/handoff fix the "x" $(date)`)
			r.sees("UserPromptSubmit operation blocked by hook: Handoff 7 started")
			r.sees("Original prompt: /handoff")
			r.idle()
			var said []entry
			for _, e := range r.entries("system") {
				if e.Subtype == "informational" {
					said = append(said, e)
				}
			}
			text := "UserPromptSubmit operation blocked by hook:\nHandoff 7 started\n\nOriginal prompt: /handoff fix the \"x\" $(date)"
			if len(said) != 1 || said[0].Content != text || said[0].Level != "warning" {
				t.Errorf("transcript: %+v", said)
			}
			r.send("more\r") // the composer was empty
			log = r.hooks(append(want, "UserPromptSubmit", "UserPromptSubmit", "Stop")...)
			equal(t, "the next prompt is", log[len(log)-2].field("prompt"), "more")
		})
	}
}

// What no hook blocks is a turn; suppressOriginalPrompt leaves the prompt out.
func TestHandoffCommandGoesOn(t *testing.T) {
	t.Parallel()
	r := ready(t, "")
	r.send("/handoff now\r")
	r.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop")
	r.idle()
	prompts := r.entries("user")
	if p := prompts[0]; len(prompts) != 1 || p.Origin.Kind != "human" || p.PromptSource != "typed" || string(p.Message.Content) != `"/handoff now"` {
		t.Errorf("transcript: %+v", prompts)
	}
	r.write("answers/UserPromptSubmit", `{"decision":"block","reason":"no","hookSpecificOutput":{"hookEventName":"UserPromptSubmit","suppressOriginalPrompt":true}}`)
	r.send("/handoff secretly\r")
	r.sees("blocked by hook: no")
	if strings.Contains(r.screen(), "Original prompt") {
		t.Error("the original prompt was shown")
	}
}

func TestTroubleInTheTranscript(t *testing.T) {
	t.Parallel()
	r := ready(t, "usage-limit")
	r.send("hello\r")
	r.hooks("SessionStart(startup)", "UserPromptSubmit", "StopFailure")
	answers := r.entries("assistant")
	if a := answers[0]; len(answers) != 1 || a.Message.Model != synthetic || !a.IsAPIError || a.Message.Usage.context() != 0 {
		t.Errorf("transcript: %+v", answers)
	}
}
