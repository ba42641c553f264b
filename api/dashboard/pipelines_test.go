package dashboard

import (
	"fmt"
	"slices"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestDecisionsNameTheirStep: what is approved or rejected is the step that the page shows, wherever the run
// is by then.
func TestDecisionsNameTheirStep(t *testing.T) {
	t.Parallel()
	h := build(t)
	run := &daemon.Pipeline{
		ID: must(h.store.NextID(t.Context(), daemon.PipelineIDs))(t), Title: "login", Template: "gated", Prompt: "Mend it.", Cwd: "/",
		Host: "elsewhere", Status: daemon.PipelineWaiting, StartedAt: &h.now, Warnings: []string{}, CreatedAt: h.now, UpdatedAt: h.now,
	}
	for i, name := range []string{"developer", "reviewer"} {
		s := daemon.Step{ID: must(h.store.NextID(t.Context(), daemon.StepIDs))(t), PipelineID: run.ID, OrderIndex: i, AgentName: name}
		s.Status, s.Approval = daemon.StepPending, true
		if i == 0 {
			s.Status, s.StartedAt, s.FinishedAt, s.ApprovedAt = daemon.StepDone, &h.now, &h.now, &h.now
		}
		run.Steps = append(run.Steps, s)
	}
	h.commit(&daemon.Change{NewPipeline: run})
	for name, draw := range map[string]func() (*Page, error){
		"home":     func() (*Page, error) { return h.Home(t.Context()) },
		"pipeline": func() (*Page, error) { return h.Pipeline(t.Context(), run.ID) },
	} {
		page, err := draw()
		doc, _ := drawn(t, page, err)
		for _, verb := range []string{"approve", "reject"} {
			if want := fmt.Sprintf(`%s{"step_id":%d}`, verb, run.Steps[1].ID); !slices.Contains(calls(doc), want) {
				t.Errorf("%s: buttons do %q, want %s among them", name, calls(doc), want)
			}
		}
	}
}
