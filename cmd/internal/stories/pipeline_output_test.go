package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// wantStoredOutput fails unless the step's output is exactly this text, in the API and in the database, and was
// recorded once.
func wantStoredOutput(r *rig, p daemon.Pipeline, n int, want string) {
	r.t.Helper()
	if got := r.output(p, n); got != want {
		r.t.Errorf("step %d left %.500q (%d bytes), want %.500q (%d bytes)", n, got, len(got), want, len(want))
	}
	out, ids := storedOutput(r, p, n), p.Steps[n-1].AgentIDs
	if out.ContentMD != want || out.AgentID != ids[len(ids)-1] {
		r.t.Errorf("stored output of step %d: %.500q of agent %d, want %.500q of %d", n, out.ContentMD, out.AgentID, want, ids[len(ids)-1])
	}
	recorded := slices.DeleteFunc(outputEvents(r, p.ID), func(e event.Event) bool {
		return *e.StepID != p.Steps[n-1].ID
	})
	if len(recorded) != 1 {
		r.t.Errorf("the output of step %d was recorded %d times", n, len(recorded))
	}
}

// outputEvents lists the events of the pipeline's outputs, in order. A handoff between the agents of a step has such an event
// as well, with the handoff's id.
func outputEvents(r *rig, id int64) []event.Event {
	r.t.Helper()
	return slices.DeleteFunc(pipelineEvents(r, id, "handoff_created"), func(e event.Event) bool { return e.HandoffID != nil })
}

// otherWarnings is what a pipeline is warned of, without outputs that have none of the four headings.
func otherWarnings(p daemon.Pipeline) []string {
	return slices.DeleteFunc(slices.Clone(p.Warnings), func(w string) bool { return strings.Contains(w, "none of the four headings") })
}

// storedOutput is the output of a step as the database has it.
func storedOutput(r *rig, p daemon.Pipeline, n int) daemon.StepHandoff {
	r.t.Helper()
	store := r.database()
	stored, err := store.Pipeline(r.t.Context(), p.ID)
	if err != nil || stored.Steps[n-1].LatestHandoff == nil {
		r.t.Fatalf("step %d of pipeline %d left nothing that is stored: %v", n, p.ID, err)
	}
	return *stored.Steps[n-1].LatestHandoff
}

// TestStepOutputIsRecordedOnce: The output has its structured fields, its times and its events.
func TestStepOutputIsRecordedOnce(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		writeTemplate(r, "two", "developer | description: The roof. | prompt: "+quoted("Work.\n@say "+structured), "reviewer | prompt: "+quoted("Look. @say Fine."))
		r.start()
		p := awaitPipeline(r, startPipeline(r, "two", "Mend the roof.").ID, daemon.PipelineDone)
		wantStoredOutput(r, p, 1, structured)
		wantStoredOutput(r, p, 2, "Fine.")
		m := p.Steps[0].LatestHandoff.Metadata
		if m == nil || said(m.WhatWasDone) != "The roof is mended." || said(m.DecisionsMade) != "- Slate: it lasts\n- No gutter: too dear" ||
			said(m.OpenQuestions) != "Who pays?" || said(m.NextAgentContext) != "Look at the chimney." {
			t.Errorf("metadata %+v", m)
		}
		if m := p.Steps[1].LatestHandoff.Metadata; m != nil {
			t.Errorf("metadata %+v of a text without fields", m)
		}
		if m := storedOutput(r, p, 1).Metadata; m == nil || said(m.WhatWasDone) != "The roof is mended." || said(m.OpenQuestions) != "Who pays?" {
			t.Errorf("stored metadata %+v", m)
		}
		if m := storedOutput(r, p, 2).Metadata; m != nil {
			t.Errorf("stored metadata %+v of step 2", m)
		}
		last := *p.StartedAt
		for _, s := range p.Steps {
			if s.StartedAt == nil || s.FinishedAt == nil || s.StartedAt.Before(last) || !s.FinishedAt.After(*s.StartedAt) || s.Error != nil {
				t.Errorf("step %d: from %v to %v, error %q", s.OrderIndex, s.StartedAt, s.FinishedAt, said(s.Error))
				continue
			}
			last = *s.FinishedAt
			a := r.getAgent(s.AgentIDs[0])
			if want := fmt.Sprintf("%s-%d", s.AgentName, s.ID); a.Name != want || a.Cwd != r.work || said(a.Persona) != said(s.Persona) {
				t.Errorf("agent %q of %s in %s, want %q of %s", a.Name, said(a.Persona), a.Cwd, want, said(s.Persona))
			}
		}
		if p.FinishedAt == nil || p.FinishedAt.Before(last) || p.CurrentAgentID != nil || !slices.Equal(p.Warnings, []string{"Step 2 (reviewer) left none of the four headings: its final message is passed on as it is."}) {
			t.Errorf("pipeline %+v", p)
		}
		wantAudit(r, p, "pipeline_created", "step_running 1", "handoff_created 1", "handoff_extracted 1", "step_done 1",
			"step_running 2", "handoff_created 2", "handoff_extraction_failed 2", "step_done 2", "pipeline_done")
	})
}

// wantAudit fails unless these are the events of the pipeline and its steps, in order, each with the step's number.
func wantAudit(r *rig, p daemon.Pipeline, want ...string) {
	r.t.Helper()
	number := map[int64]int{}
	for i, s := range p.Steps {
		number[s.ID] = i + 1
	}
	var got []string
	for _, e := range r.eventsWhere(func(e event.Event) bool {
		return e.Type.About("step") || e.Type.About("pipeline") || e.Type.About("handoff") && e.HandoffID == nil
	}) {
		line := string(e.Type)
		if e.StepID != nil {
			line += fmt.Sprintf(" %d", number[*e.StepID])
		}
		if e.PipelineID == nil || *e.PipelineID != p.ID {
			line += " of no run"
		}
		got = append(got, line)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		r.t.Errorf("events\n got %q\nwant %q", got, want)
	}
}

// TestTranscriptReplacesAMissingFinalMessage: The transcript stands in for a hook without the final message.
func TestTranscriptReplacesAMissingFinalMessage(t *testing.T) {
	t.Parallel()
	for _, behaviour := range []string{"no-final-message", "no-final-message,late-transcript"} {
		t.Run(behaviour, func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				r.misbehave(behaviour)
				writeTemplate(r, "two", "developer | prompt: "+quoted("Work.\n@say "+structured), "reviewer | prompt: Look. @say Fine.")
				r.start()
				p := awaitPipeline(r, startPipeline(r, "two", "Mend the roof.").ID, daemon.PipelineDone)
				wantStoredOutput(r, p, 1, structured)
				wantStoredOutput(r, p, 2, "Fine.")
				if len(otherWarnings(p)) > 0 || p.Steps[0].LatestHandoff.Metadata == nil {
					t.Errorf("warnings %q, metadata %+v", p.Warnings, p.Steps[0].LatestHandoff.Metadata)
				}
			})
		})
	}
}

// TestEmptyStepOutputIsAWarning: A step without output causes a warning. The next step is told what it would be told
// if it were the first.
func TestEmptyStepOutputIsAWarning(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.misbehave("developer-:no-final-text")
		writeTemplate(r, "two", "developer", "reviewer | prompt: Look closely.")
		r.start()
		p := awaitPipeline(r, startPipeline(r, "two", "Mend the roof.").ID, daemon.PipelineDone)
		wantSteps(r, p, "done done")
		wantStoredOutput(r, p, 1, "")
		if p.Steps[0].LatestHandoff.Metadata != nil {
			t.Errorf("metadata %+v of nothing", p.Steps[0].LatestHandoff.Metadata)
		}
		if w := otherWarnings(p); len(w) != 1 || !strings.Contains(w[0], "Step 1 (developer) left nothing") {
			t.Errorf("warnings %q", p.Warnings)
		}
		if text := awaitPipelineAlert(r, p.ID, "step_output_empty"); !strings.Contains(text, fmt.Sprintf("understudy agent show %d", p.Steps[0].AgentIDs[0])) {
			t.Errorf("operator was told %q", text)
		}
		wantOnlyPrompt(r, p.Steps[1].AgentIDs[0], "Look closely.\n\n## Original request\n\nMend the roof.")
		wantAudit(r, p, "pipeline_created", "step_running 1", "handoff_created 1", "step_output_empty 1", "handoff_extraction_failed 1", "step_done 1",
			"step_running 2", "handoff_created 2", "handoff_extraction_failed 2", "step_done 2", "pipeline_done")
	})
}
