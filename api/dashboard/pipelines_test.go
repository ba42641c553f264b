package dashboard

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/understudyd/understudy/daemon"
)

// run is a pipeline on another host that began at a given time.
func (h *house) run(status daemon.PipelineStatus, at time.Time) *daemon.Pipeline {
	h.t.Helper()
	return &daemon.Pipeline{
		ID: must(h.store.NextID(h.t.Context(), daemon.PipelineIDs))(h.t), Title: "login", Template: "gated", Prompt: "Mend it.", Cwd: "/",
		Host: "elsewhere", Status: status, StartedAt: &at, Warnings: []string{}, CreatedAt: at, UpdatedAt: at,
	}
}

// step is a step that needs approval.
func (h *house) step(run *daemon.Pipeline, index int, status daemon.StepStatus) daemon.Step {
	h.t.Helper()
	return daemon.Step{
		ID: must(h.store.NextID(h.t.Context(), daemon.StepIDs))(h.t), PipelineID: run.ID, OrderIndex: index, Number: index + 1, Round: 1,
		AgentName: "developer", Status: status, Approval: true,
	}
}

// TestDecisionsNameTheirStep: the buttons approve and reject the step that the page shows, even if the pipeline waits at
// another step by then.
func TestDecisionsNameTheirStep(t *testing.T) {
	t.Parallel()
	h := build(t)
	run := h.run(daemon.PipelineWaiting, h.now)
	run.Steps = []daemon.Step{h.step(run, 0, daemon.StepDone), h.step(run, 1, daemon.StepPending)}
	run.Steps[0].StartedAt, run.Steps[0].FinishedAt, run.Steps[0].ApprovedAt = &h.now, &h.now, &h.now
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

// TestRunGrowsOlder: app.js updates the age of a running pipeline and of its running step. An ended pipeline shows its
// duration.
func TestRunGrowsOlder(t *testing.T) {
	t.Parallel()
	h := build(t)
	begun, ended := h.now.Add(-40*time.Minute), h.now.Add(-10*time.Minute)
	run := h.run(daemon.PipelineRunning, begun)
	run.Steps = []daemon.Step{h.step(run, 0, daemon.StepDone), h.step(run, 1, daemon.StepRunning)}
	run.Steps[0].StartedAt, run.Steps[0].FinishedAt, run.Steps[1].StartedAt = &begun, &ended, &ended
	h.commit(&daemon.Change{NewPipeline: run})
	page, err := h.Pipeline(t.Context(), run.ID)
	doc, text := drawn(t, page, err)
	var ages []string
	for n := range doc.Descendants() {
		if slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "data-age" }) {
			ages = append(ages, n.FirstChild.Data)
		}
	}
	if want := []string{"40 min", "10 min"}; !slices.Equal(ages, want) {
		t.Errorf("ages that count on %q, want %q", ages, want)
	}
	if want := `<span class="dim">30 min`; !strings.Contains(text, want) {
		t.Errorf("no %q in %s", want, text)
	}
}
