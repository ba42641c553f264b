package stories

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestGenerateLeavesTheAgentAlone: A fork of the session writes the document. Until the agent is asked to exit, the
// daemon touches neither its pane nor its transcript. The successor takes over as in the other mode.
func TestGenerateLeavesTheAgentAlone(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		f := recordForks(r)
		r.start()
		a := startSpokenTo(r)
		before := r.readFile(*a.TranscriptPath)
		const focus = "Focus on the parser,\nnot on the printer."
		h := r.awaitPhase(requestGenerate(r, a.ID, focus), daemon.Completed)
		r.wantKinds(a.ID, daemon.KindMessage, daemon.KindExit)
		if after := r.readFile(*a.TranscriptPath); after != before {
			t.Errorf("transcript\n   was %s\nand is %s", before, after)
		}
		if h.Mode != daemon.ModeGenerate || h.Focus != focus || h.Structured == nil || h.Status != daemon.StatusCompleted || len(h.Warnings) > 0 || !h.ContextValidated {
			t.Errorf("handoff %+v: want a structured one, without warnings", h)
		}
		doc := r.readFile(h.FilePath)
		for _, part := range []string{"# Handoff from ", "## What Was Done\n", "Find out why the tests are slow", "\n## Current Story\n"} {
			if !strings.Contains(doc, part) {
				t.Errorf("document has no %q:\n%s", part, doc)
			}
		}
		asked := f.prompts()
		if len(asked) != 1 {
			t.Fatalf("forks were asked %q, want one fork", asked)
		}
		for _, part := range []string{h.Ref, "**## What Was Done**", "**## Current Story**", "**## Architecture Decisions**", "**## Code Patterns**", "Focus on this:\n\n" + focus} {
			if !strings.Contains(asked[0], part) {
				t.Errorf("prompt %q does not have %q", asked[0], part)
			}
		}
		var got []string
		for _, typ := range r.types(h.ID) {
			if strings.HasPrefix(typ, "handoff_") && typ != "handoff_waiting" && typ != "handoff_read" { // the successor reads meanwhile
				got = append(got, strings.TrimPrefix(typ, "handoff_"))
			}
		}
		want := "started generating verifying created recorded shutting_down spawning awaiting_registration injecting_skill briefing completed"
		if strings.Join(got, " ") != want {
			t.Errorf("events\n got %v\nwant %s", got, want)
		}
		if _, ok := h.Metrics.Phases[daemon.Generating]; !ok {
			t.Errorf("metrics %+v do not count the generation", h.Metrics)
		}
		r.wantTold(*h.SuccessorID, h.Ref)
		r.wantTold(a.ID, "Find out why")
	})
}
