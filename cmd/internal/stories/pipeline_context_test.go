package stories

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// contextFile is what an agent that works now was given as the context of the steps before its own.
func (r *rig) contextFile(a daemon.Agent) string {
	r.t.Helper()
	_, rest, _ := strings.Cut(launchText(r, a), "What the steps before yours have left is in ")
	path, _, found := strings.Cut(rest, ": the last message")
	if !found {
		r.t.Fatalf("agent %d is told of no context:\n%s", a.ID, launchText(r, a))
	}
	if rule := "Read(/" + path + ")"; !strings.Contains(settingsOf(r, a.ID), rule) {
		r.t.Errorf("agent %d may not read %s without asking", a.ID, path)
	}
	return r.readFile(path)
}

// TestStepsPassOnWhatAHandoffPassesOn: The third step's agent gets the decisions and the messages of both steps before it, and
// the message of the second one in full. The output has the checksum of that and its figures. A step is asked for what the role of the next one
// requires, and without that its output has a warning.
func TestStepsPassOnWhatAHandoffPassesOn(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		hold, release := newHoldFile(r)
		second := "## What Was Done\n\nThe tiles are counted.\n\n## Decisions Made\n\n- Nails: of copper\n\n## Coverage Config\n\nAll of it.\n\n## Implementation\n\nBy hand.\n\n## Test Requirements\n\nRain.\n"
		writeTemplate(r, "three", "developer | prompt: "+quoted("Work.\n@say "+structured), "tester | prompt: "+quoted("Work.\n@say "+second),
			"tester | prompt: "+quoted("@hold "+hold))
		r.start()
		id := startPipeline(r, "three", "Mend the roof.").ID
		a := awaitWorkingAgent(r, id, 3)
		got := r.contextFile(a)
		for _, want := range []string{"Slate", "of copper", "## Coverage Config", "The tiles are counted.", "## Decisions so far", "## Conversation before", "Mend the roof."} {
			if !strings.Contains(got, want) {
				t.Errorf("the context lacks %q:\n%s", want, got)
			}
		}
		if strings.Count(got, "Slate") < 2 { // among the decisions, and in the first step's conversation
			t.Errorf("the context has no messages of the first step:\n%s", got)
		}
		release()
		p := awaitPipeline(r, id, daemon.PipelineDone)
		out := p.Steps[1].LatestHandoff
		if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(got))); out.ContextChecksum == nil || *out.ContextChecksum != sum {
			t.Errorf("checksum %s, want %s", said(out.ContextChecksum), sum)
		}
		if m := out.Metrics; m.ContextSizeBytes != int64(len(got)) || m.DecisionsTransferred != 3 || m.MessagesTransferred < 4 || m.TotalMS <= 0 || m.TotalMS > 60_000 {
			t.Errorf("metrics %+v of a context with %d bytes", m, len(got))
		}
		if !out.ContextValidated {
			t.Errorf("not validated, although it has what a tester requires: %q", out.Warnings)
		}
		if first := p.Steps[0].LatestHandoff; first.ContextValidated || !slices.ContainsFunc(first.Warnings, func(w string) bool { return strings.Contains(w, "The role tester requires") }) {
			t.Errorf("validated %v, warnings %q", first.ContextValidated, first.Warnings)
		}
		for i, asked := range []bool{true, true, false} {
			if text := systemPrompt(r, p.Steps[i].AgentIDs[0]); strings.Contains(text, "- **## Coverage Config**") != asked {
				t.Errorf("step %d is asked for what a tester requires: want %t:\n%s", i+1, asked, text)
			}
		}
	})
}
