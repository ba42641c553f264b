package stories

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/pipelines"
)

// writeTemplate writes a pipeline template with one step for each string. Further keys of a step follow its agent:
// "developer | approval: true | timeout: 0.5".
func writeTemplate(r *rig, name string, steps ...string) {
	r.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\nsteps:\n", name)
	for _, s := range steps {
		for i, field := range strings.Split(s, " | ") {
			if i == 0 {
				field = "agent: " + field
			}
			fmt.Fprintf(&b, "%s %s\n", map[bool]string{true: "  -", false: "   "}[i == 0], field)
		}
	}
	writeFile(r, filepath.Join(r.dir.Pipelines(), name+".yaml"), b.String())
}

// writeFile writes a file and makes its folder.
func writeFile(r *rig, path, text string) {
	r.t.Helper()
	must(r.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(r.t, os.WriteFile(path, []byte(text), 0o600))
}

// startPipeline creates a pipeline in the rig's working directory.
func startPipeline(r *rig, template, prompt string) daemon.Pipeline {
	r.t.Helper()
	return createPipeline(r, pipelines.NewPipeline{Template: template, Title: "a test", Prompt: prompt, Cwd: r.work})
}

func createPipeline(r *rig, in pipelines.NewPipeline) daemon.Pipeline {
	r.t.Helper()
	return value(r.client.CreatePipeline(r.t.Context(), in))(r.t)
}

func getPipeline(r *rig, id int64) daemon.Pipeline {
	r.t.Helper()
	return value(r.client.Pipeline(r.t.Context(), id))(r.t)
}

// awaitPipeline waits until the pipeline has one of the statuses. It fails if the pipeline ends with any other
// status.
func awaitPipeline(r *rig, id int64, statuses ...daemon.PipelineStatus) daemon.Pipeline {
	r.t.Helper()
	return awaitPipelineThat(r, id, fmt.Sprint(statuses), func(p daemon.Pipeline) bool {
		if !p.Open() && !slices.Contains(statuses, p.Status) {
			r.t.Fatalf("pipeline %d is %s, want %v: %s\n%s", id, p.Status, statuses, said(p.Error), r.report())
		}
		return slices.Contains(statuses, p.Status)
	})
}

func awaitPipelineThat(r *rig, id int64, what string, ok func(daemon.Pipeline) bool) daemon.Pipeline {
	r.t.Helper()
	var p daemon.Pipeline
	r.await(fmt.Sprintf("pipeline %d: %s", id, what), func() (bool, string) {
		got, err := r.client.Pipeline(context.Background(), id)
		if err != nil {
			return false, err.Error()
		}
		p = got
		return ok(p), fmt.Sprintf("%s %q %s %s", p.Status, p.Note, said(p.Error), stepStatuses(p))
	})
	return p
}

// stepStatuses is the statuses of a pipeline's steps in one line, as "done running pending".
func stepStatuses(p daemon.Pipeline) string {
	var words []string
	for _, s := range p.Steps {
		words = append(words, string(s.Status))
	}
	return strings.Join(words, " ")
}

// wantSteps fails unless the pipeline's steps have these statuses.
func wantSteps(r *rig, p daemon.Pipeline, want string) {
	r.t.Helper()
	equal(r.t, fmt.Sprintf("steps of pipeline %d", p.ID), stepStatuses(p), want)
}

func said(s *string) string {
	if s == nil {
		return "<nil>"
	}
	return *s
}

// pipelineEvents lists the pipeline's events of a type, in order.
func pipelineEvents(r *rig, id int64, typ string) []event.Event {
	r.t.Helper()
	store := r.database()
	return value(store.Events(r.t.Context(), event.Filter{PipelineID: id, Types: []string{typ}, Limit: 5000}))(r.t)
}

// newHoldFile returns a path for the directive @hold, and a function that makes the file.
func newHoldFile(r *rig) (path string, release func()) {
	r.t.Helper()
	path = filepath.Join(filepath.Dir(r.root), fmt.Sprintf("go-on-%d", r.holds.Add(1)))
	return path, func() { r.t.Helper(); writeFile(r, path, "") }
}

// awaitWorkingAgent waits until step n, counted from 1, has an agent in a turn. It returns the step's newest agent.
func awaitWorkingAgent(r *rig, id int64, n int) daemon.Agent {
	r.t.Helper()
	var a daemon.Agent
	awaitPipelineThat(r, id, fmt.Sprintf("an agent in a turn of step %d", n), func(p daemon.Pipeline) bool {
		ids := p.Steps[n-1].AgentIDs
		if p.Steps[n-1].Status != daemon.StepRunning || len(ids) == 0 {
			return false
		}
		a = r.getAgent(ids[len(ids)-1])
		return a.State == daemon.Working
	})
	return a
}

// agentRow reads an agent's row, with the fields that the API does not show.
func agentRow(r *rig, agentID int64) daemon.Agent {
	r.t.Helper()
	store := r.database()
	return value(store.Agent(r.t.Context(), agentID))(r.t)
}

// approvePipeline waits until the pipeline waits for approval, and approves it.
func approvePipeline(r *rig, id int64, comment string) daemon.Pipeline {
	r.t.Helper()
	awaitPipeline(r, id, daemon.PipelineWaiting)
	return value(r.client.ApprovePipeline(r.t.Context(), id, pipelines.Decision{Comment: comment}))(r.t)
}

// holdingStep returns a step for a template. Its agent's turn goes on until release is called.
func holdingStep(r *rig, agent string) (step string, release func()) {
	r.t.Helper()
	file, release := newHoldFile(r)
	return agent + " | prompt: Work. @hold " + file, release
}

// roof is a request whose steps leave structured fields, so that the next step is told what the template asks of it.
const roof = "Mend the roof. @say ## What Was Done\n\nThe roof is mended.\n"

// wantOneAgentPerStep fails unless each step that was not skipped is done, had one agent that was told one text, and
// left one output.
func wantOneAgentPerStep(r *rig, p daemon.Pipeline) {
	r.t.Helper()
	for i, s := range p.Steps {
		if s.Status == daemon.StepSkipped {
			continue
		}
		if len(s.AgentIDs) != 1 || s.Status != daemon.StepDone || s.LatestHandoff == nil || len(r.told(s.AgentIDs[0])) != 1 {
			r.t.Errorf("pipeline %d: step %d is %s with the agents %v and left %+v; want what one agent left that was told once\n%s",
				p.ID, i+1, s.Status, s.AgentIDs, s.LatestHandoff, r.report())
		}
	}
}

// wantPipelineEvents fails unless the pipeline has this many events of a type.
func wantPipelineEvents(r *rig, id int64, typ string, want int) {
	r.t.Helper()
	if got := pipelineEvents(r, id, typ); len(got) != want {
		r.t.Errorf("pipeline %d has %d events %s, want %d\n%s", id, len(got), typ, want, r.report())
	}
}
