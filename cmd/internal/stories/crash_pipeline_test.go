//go:build e2e

package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pipelines"
)

// In these stories a daemon is killed with SIGKILL, and started again, at every point of a pipeline where it has an effect, before and
// after it. One pipeline has two steps with an approval between them, and goes
// from its creation to the end of its last agent. The other goes from an abort to the end of its agent.

// operate plays the person until the pipeline is over: it creates the one pipeline if there is none, and then calls
// want. A daemon that is away answers nothing.
func operate(r *rig, in pipelines.NewPipeline, want func(daemon.Pipeline), over func(daemon.Pipeline) bool) func() (bool, string) {
	return func() (bool, string) {
		r.t.Helper()
		list, err := r.client.Pipelines(r.t.Context(), allRows)
		switch {
		case err != nil:
			return false, err.Error()
		case len(list) > 1:
			r.t.Fatalf("%d pipelines, want one\n%s", len(list), r.report())
		case len(list) == 0:
			_, err = r.client.CreatePipeline(r.t.Context(), in)
			return false, fmt.Sprint(err)
		}
		want(list[0])
		return over(list[0]), fmt.Sprintf("%s %q %s %s", list[0].Status, list[0].Note, said(list[0].Error), stepStatuses(list[0]))
	}
}

// hasEnded reports whether the pipeline has ended with this status and with all of its agents, and no pane is left.
func hasEnded(r *rig, status daemon.PipelineStatus) func(daemon.Pipeline) bool {
	return func(p daemon.Pipeline) bool {
		agents, err := r.client.Agents(r.t.Context(), allRows)
		running := func(a daemon.Agent) bool { return a.EndedAt == nil }
		return p.Status == status && err == nil && !slices.ContainsFunc(agents, running) && countPanes(r) == 0
	}
}

// approveIfWaiting approves a pipeline that waits for approval.
func (r *rig) approveIfWaiting(p daemon.Pipeline) {
	if p.Status == daemon.PipelineWaiting {
		// It asks again if the answer was lost.
		_, _ = r.client.ApprovePipeline(r.t.Context(), p.ID, pipelines.Decision{Comment: "go on"})
	}
}

func TestPipelineSurvivesDaemonKillsAtEveryEffect(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	writeTemplate(r, "gated", "developer", "reviewer | approval: true | prompt: Look closely.")
	in := pipelines.NewPipeline{Template: "gated", Title: "a test", Prompt: roof, Cwd: r.work}
	w := startWalk(r, "pipeline_created", "paste", "spawn", "kill")
	w.until("the run done", operate(r, in, r.approveIfWaiting, hasEnded(r, daemon.PipelineDone)))
	w.end(map[string]int{"paste": 2, "spawn": 2, "kill": 2})
	wantPipelineOnce(r, "pipeline_waiting_for_approval", "step_approved", "pipeline_running")
}

// wantPipelineOnce waits until all agents of the only pipeline have ended. It fails unless everything that the pipeline
// does was done once for each of its two steps.
func wantPipelineOnce(r *rig, once ...string) {
	r.t.Helper()
	list, err := r.client.Pipelines(r.t.Context(), allRows)
	if err != nil || len(list) != 1 {
		r.t.Fatalf("pipelines %+v, %v: want one", list, err)
	}
	p := list[0]
	wantSteps(r, p, "done done")
	for i, s := range p.Steps {
		if len(s.AgentIDs) != 1 || s.LatestHandoff == nil || s.LatestHandoff.ContentMD == "" || s.Error != nil {
			r.t.Fatalf("step %d has the agents %v and left %+v (%s), want one agent's output\n%s", i+1, s.AgentIDs, s.LatestHandoff, said(s.Error), r.report())
		}
		r.awaitState(s.AgentIDs[0], daemon.Ended)
		r.wantTold(s.AgentIDs[0], "Mend the roof.")
	}
	if got := r.told(p.Steps[1].AgentIDs[0])[0]; !strings.Contains(got, "Look closely.") || strings.Contains(got, "[Approval note: go on]") != (len(once) > 0) {
		r.t.Errorf("step 2 was told %q", got)
	}
	wantNoPanes(r)
	for typ, want := range map[string]int{
		"pipeline_created": 1, "pipeline_done": 1, "pipeline_failed": 0, "agent_created": 2, "agent_started": 2,
		"agent_registered": 2, "agent_ended": 2, "agent_failed": 0, "step_running": 2, "step_done": 2, "step_failed": 0, "handoff_created": 2,
	} {
		wantPipelineEvents(r, p.ID, typ, want)
	}
	for _, typ := range once {
		wantPipelineEvents(r, p.ID, typ, 1)
	}
	equal(r.t, "agents", len(value(r.client.Agents(r.t.Context(), allRows))(r.t)), 2)
}
