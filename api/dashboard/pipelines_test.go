package dashboard

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/personas"
)

// run is a pipeline on another host that began at a given time.
func (h *pages) run(status daemon.PipelineStatus, at time.Time) *daemon.Pipeline {
	h.t.Helper()
	return &daemon.Pipeline{
		ID: value(h.store.NextID(h.t.Context(), daemon.PipelineIDs))(h.t), Title: "login", Template: "gated", Prompt: "Mend it.", Cwd: "/",
		Host: "elsewhere", Status: status, StartedAt: &at, Warnings: []string{}, CreatedAt: at, UpdatedAt: at,
	}
}

// step is a step that needs approval.
func (h *pages) step(run *daemon.Pipeline, index int, status daemon.StepStatus) daemon.Step {
	h.t.Helper()
	return daemon.Step{
		ID: value(h.store.NextID(h.t.Context(), daemon.StepIDs))(h.t), PipelineID: run.ID, OrderIndex: index, Number: index + 1, Round: 1,
		AgentName: "developer", Status: status, Approval: true,
	}
}

// pagesOf returns the pages that show a pipeline, by name.
func (h *pages) pagesOf(run *daemon.Pipeline) map[string]*Page {
	h.t.Helper()
	return map[string]*Page{"home": value(h.Home(h.t.Context()))(h.t), "pipeline": value(h.Pipeline(h.t.Context(), run.ID))(h.t)}
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
	for name, page := range h.pagesOf(run) {
		doc, _ := drawn(t, page)
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
	doc, text := drawn(t, value(h.Pipeline(t.Context(), run.ID))(t))
	var ages []string
	for n := range doc.Descendants() {
		if slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "data-age" }) {
			ages = append(ages, n.FirstChild.Data)
		}
	}
	equal(t, "ages that count on", ages, []string{"40 min", "10 min"})
	holds(t, "the page", text, `<span class="dim">30 min`)
}

// TestUndecidedStepOffersItsWays: where the rules of a step do not decide, the pages show why and what it has written, and a
// button for each way names the step that they show.
func TestUndecidedStepOffersItsWays(t *testing.T) {
	t.Parallel()
	h := build(t)
	run := h.run(daemon.PipelineWaiting, h.now)
	run.Steps = []daemon.Step{h.step(run, 0, daemon.StepDone), h.step(run, 1, daemon.StepPending)}
	s := &run.Steps[0]
	s.StartedAt, s.FinishedAt, s.ApprovedAt, s.Undecided = &h.now, &h.now, &h.now, daemon.UndecidedUnclear
	s.Next = []personas.Rule{{When: personas.Condition{Heading: "Verdict", Contains: "changes requested"}, Goto: 1}}
	h.commit(&daemon.Change{NewPipeline: run})
	for name, page := range h.pagesOf(run) {
		doc, text := drawn(t, page)
		for _, want := range []string{`approve{"step_id":%d,"after":true}`, `approve{"step_id":%d,"goto":1}`, `reject{"step_id":%d,"after":true}`} {
			if want = fmt.Sprintf(want, s.ID); !slices.Contains(calls(doc), want) {
				t.Errorf("%s: buttons do %q, want %s among them", name, calls(doc), want)
			}
		}
		holds(t, name+" says what is unclear", text, "not clear what step 1 (developer) means under Verdict")
	}
}
