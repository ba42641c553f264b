package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
)

// pipelineChecks is what the rules about pipelines remember.
type pipelineChecks struct {
	statuses     map[int64][]string // of each pipeline, in order
	stepStatuses map[int64][]string // of each step, in order
	approved     map[int64]bool     // steps that somebody has approved, or may have
	chosen       map[int64]bool     // steps of which somebody has said, or may have, which one comes next
	resumed      map[int64]int      // how often somebody may have resumed a pipeline
	resumptions  map[int64]int      // how often a failed pipeline has gone on
	prompted     map[int64]int      // how often an agent was given the prompt of its step
	places       map[int64]int      // of each step that has begun: its place in the pipeline
}

func newPipelineChecks() pipelineChecks {
	return pipelineChecks{map[int64][]string{}, map[int64][]string{}, map[int64]bool{}, map[int64]bool{}, map[int64]int{}, map[int64]int{}, map[int64]int{}, map[int64]int{}}
}

// maxRunning is the setting pipeline.max_running of all hosts.
const maxRunning = 2

// checkPipelines checks the pipelines after each transaction.
func checkPipelines(w *world, agents []daemon.Agent, handoffs []daemon.Handoff) {
	atWork := map[string]int{}
	for _, p := range w.pipelines() {
		checkPipeline(w, &p)
		w.checkRoutes(&p)
		front := p.Front()
		for i := range p.Steps {
			checkStep(w, &p, &p.Steps[i], i > front, agents)
		}
		if p.Status == daemon.PipelineRunning {
			if atWork[p.Host]++; atWork[p.Host] > maxRunning {
				w.fail("pipeline %d is running on %s, and %d are running there", p.ID, p.Host, atWork[p.Host])
			}
		}
		checkAgentsOf(w, &p, agents)
		checkHandoffsOf(w, &p, handoffs)
	}
}

// checkHandoffsOf: a step that is not running has no open handoff that is not recorded yet.
func checkHandoffsOf(w *world, p *daemon.Pipeline, handoffs []daemon.Handoff) {
	for h := range each(handoffs) {
		for j := range p.Steps {
			if s := &p.Steps[j]; s.Status != daemon.StepRunning && h.Open() && h.RecordedAt == nil && slices.Contains(s.AgentIDs, h.AgentID) {
				w.fail("step %d of pipeline %d is %s, but handoff %d of its agent %d is %s", j+1, p.ID, s.Status, h.ID, h.AgentID, h.Phase)
			}
		}
	}
}

// noteStatus appends the status of a row to its list if it is new, and checks the move. from is the status before.
// begins are the statuses in which a row may begin.
func noteStatus(w *world, table int, list []string, what, now string, begins ...string) (after []string, from string) {
	if len(list) == 0 {
		if !slices.Contains(begins, now) {
			w.fail("%s begins as %s", what, now)
		}
		return []string{now}, ""
	}
	if from = list[len(list)-1]; from == now {
		return list, from
	}
	checkMove(w, table, what, from, now)
	return append(list, now), from
}

func checkPipeline(w *world, p *daemon.Pipeline) {
	list, from := noteStatus(w, 1, w.statuses[p.ID], fmt.Sprintf("pipeline %d", p.ID), string(p.Status), "pending", "running")
	w.statuses[p.ID] = list
	if from == "failed" && p.Status != daemon.PipelineFailed {
		may := w.resumed[p.ID]
		if p.ResumedAt != nil && w.resume {
			may++ // a daemon has, once
		}
		if w.resumptions[p.ID]++; w.resumptions[p.ID] > may {
			w.fail("pipeline %d had failed and goes on, but nobody has resumed it", p.ID)
		}
	}
	switch {
	case p.Status == daemon.PipelineDone && p.Front() < len(p.Steps):
		w.fail("pipeline %d is done, but its step %d is %s", p.ID, p.Front()+1, p.Steps[p.Front()].Status)
	case p.Status == daemon.PipelineFailed && (p.Error == nil || p.ErrorCode == "" || p.Hint == ""):
		w.fail("pipeline %d failed without an error, a code or a hint", p.ID)
	}
}

// checkStep checks a step. later is true if a step before it has not ended.
func checkStep(w *world, p *daemon.Pipeline, s *daemon.Step, later bool, agents []daemon.Agent) {
	what := fmt.Sprintf("step %d of pipeline %d", s.OrderIndex+1, p.ID)
	w.stepStatuses[s.ID], _ = noteStatus(w, 2, w.stepStatuses[s.ID], what, string(s.Status), "pending")
	started := s.Status == daemon.StepRunning || s.Status == daemon.StepDone
	switch {
	case later && s.Status != daemon.StepPending:
		w.fail("%s is %s, but a step before it has not ended", what, s.Status)
	case started && s.Approval && (s.ApprovedAt == nil || !w.approved[s.ID]):
		w.fail("%s is %s, but nobody has approved it", what, s.Status)
	case s.Status == daemon.StepRunning && p.Status != daemon.PipelineRunning:
		w.fail("%s is running, but the pipeline is %s", what, p.Status)
	case s.Status == daemon.StepDone && s.LatestHandoff == nil:
		w.fail("%s is done, but has no output", what)
	case s.Status == daemon.StepFailed && (s.Error == nil || *s.Error == ""):
		w.fail("%s failed without an error", what)
	}
	if s.Status != daemon.StepRunning {
		return
	}
	for a := range each(agents) {
		if a.PipelineID == nil || *a.PipelineID != p.ID || *a.StepID == s.ID || !a.Active() || a.StopStage == daemon.StopFailed {
			continue
		}
		w.fail("%s is running, but agent %d of another step is still %s", what, a.ID, a.State)
	}
}

// checkAgentsOf: at most one agent works for a pipeline, and none for a pipeline that has ended, unless its next agent could not be started.
func checkAgentsOf(w *world, p *daemon.Pipeline, agents []daemon.Agent) {
	var works []int64
	for a := range each(agents) {
		if a.PipelineID != nil && *a.PipelineID == p.ID && a.Active() && a.StopAskedAt == nil {
			works = append(works, a.ID)
		}
	}
	if len(works) > 1 {
		w.fail("agents %v work for pipeline %d at the same time", works, p.ID)
	}
	if len(works) > 0 && !p.Open() && p.ErrorCode != daemon.CodeAgentNotStartable {
		w.fail("agent %d works for pipeline %d, which is %s", works[0], p.ID, p.Status)
	}
}

// checkStepPrompt: an agent is given the prompt of its step at most once, and a successor never. It is called when a
// model is given a prompt.
func checkStepPrompt(w *world, a *agent, prompt string) {
	row, err := w.lent.Agent(ctx(), a.id)
	if err != nil || row.StepID == nil {
		return
	}
	s := step(w, *row.PipelineID, *row.StepID)
	if s == nil || !runtimes.MatchesPrompt(prompt, runtimes.FirstPrompt(s.Input)) { // it need not be equal: a person may have typed behind it
		return
	}
	switch w.prompted[a.id]++; {
	case row.PreviousAgentID != nil:
		w.fail("agent %d is a successor at step %d, but is given the step's prompt", a.id, s.ID)
	case w.prompted[a.id] > 1:
		w.fail("agent %d is given the prompt of step %d for the %dth time", a.id, s.ID, w.prompted[a.id])
	}
}

func step(w *world, pipeline, id int64) *daemon.Step {
	p, err := w.lent.Pipeline(ctx(), pipeline)
	if err != nil {
		w.fail("%v", err)
		return nil
	}
	for i := range p.Steps {
		if p.Steps[i].ID == id {
			return &p.Steps[i]
		}
	}
	w.fail("pipeline %d has no step %d", pipeline, id)
	return nil
}

// checkOutput: the output of a step is a message with which its agent ended a turn, and the agent was given the step's
// prompt. Of a program that is known by its screen only the daemon knows no message.
func checkOutput(w *world, out *daemon.StepHandoff) {
	row, err := w.lent.Agent(ctx(), out.AgentID)
	if err != nil {
		w.fail("%v", err)
		return
	}
	switch a := w.newestProcess(row.ID); {
	case a == nil:
		w.fail("step %d has ended, but agent %d has no process", out.StepID, row.ID)
	case !slices.Contains(a.answers, out.ContentMD) && (a.cli != linesCLI || out.ContentMD != ""):
		w.fail("the output of step %d is %.60q, but agent %d has not said that", out.StepID, out.ContentMD, a.id)
	case row.PreviousAgentID == nil && w.prompted[a.id] != 1:
		w.fail("step %d has ended, but agent %d was given its prompt %d times", out.StepID, a.id, w.prompted[a.id])
	}
}

// pipelinesFinished reports whether every pipeline has ended or waits for a person.
func pipelinesFinished(w *world) bool {
	return !slices.ContainsFunc(w.pipelines(), w.pipelineGoesOn)
}

// pipelineGoesOn reports whether a pipeline has yet to end or to wait for a person. If the clock was set back, an agent may
// wait longer for its reset than a run lasts, and others wait for the pipeline's place.
func (w *world) pipelineGoesOn(p daemon.Pipeline) bool {
	waits := w.plan.on["clock steps"] && slices.ContainsFunc(w.pipelines(), func(p daemon.Pipeline) bool {
		return p.Status == daemon.PipelineRunning && strings.Contains(p.Note, "usage limit")
	})
	return !waits && (p.Status == daemon.PipelinePending || p.Status == daemon.PipelineRunning)
}

// pipelinesUnfinished reports every pipeline that should have ended by now.
func pipelinesUnfinished(w *world) {
	for _, p := range w.pipelines() {
		if w.pipelineGoesOn(p) {
			w.fail("pipeline %d is still %s (%s) %s after the last fault", p.ID, p.Status, p.Note, patience)
		}
	}
}

// ofNoPipeline are the events of an agent that name no pipeline: nobody could read its row, or they are about its session alone.
var ofNoPipeline = []event.Type{event.AgentStuck, event.OperatorNotified, event.AgentContext}

// pipelinesEnded: the log has each move of a pipeline and of its steps, and names the pipeline in each event of its agents. A failure is an
// alert, nobody is reminded of what has been decided, and no agent works for a pipeline that has ended.
func pipelinesEnded(w *world, agents []daemon.Agent, events []event.Event) {
	statuses, steps := map[int64][]string{}, map[int64][]string{}
	works := map[int64]int64{} // the pipeline of each agent that has one
	for a := range each(agents) {
		if a.PipelineID != nil {
			works[a.ID] = *a.PipelineID
		}
	}
	for e := range each(events) {
		if e.AgentID != nil && works[*e.AgentID] != 0 && (e.PipelineID == nil || *e.PipelineID != works[*e.AgentID]) && !slices.Contains(ofNoPipeline, e.Type) {
			w.fail("event %d (%s) of agent %d does not name its pipeline", e.ID, e.Type, *e.AgentID)
		}
		if e.PipelineID == nil {
			continue
		}
		if list := statuses[*e.PipelineID]; e.Type == "pipeline_approval_reminder" && list[len(list)-1] != string(daemon.PipelineWaiting) {
			w.fail("event %d reminds of an approval of pipeline %d, which is %s", e.ID, *e.PipelineID, list[len(list)-1])
		}
		switch e.Type {
		case "pipeline_created", "pipeline_running", "pipeline_pending", "pipeline_waiting_for_approval", "pipeline_done", "pipeline_failed":
			statuses[*e.PipelineID] = append(statuses[*e.PipelineID], word(e, "status"))
		case "step_running", "step_done", "step_failed", "step_skipped":
			steps[*e.StepID] = append(steps[*e.StepID], strings.TrimPrefix(string(e.Type), "step_"))
		}
		if code := word(e, "code"); e.Type == "pipeline_failed" && !e.Alert && code != "aborted" && code != "rejected" {
			w.fail("pipeline %d failed (%s) without an alert", *e.PipelineID, code)
		}
	}
	for _, p := range w.pipelines() {
		if got := statuses[p.ID]; !slices.Equal(got, w.statuses[p.ID]) {
			w.fail("pipeline %d was %v, but the log has %v", p.ID, w.statuses[p.ID], got)
		}
		for i := range p.Steps {
			went := slices.DeleteFunc(slices.Clone(w.stepStatuses[p.Steps[i].ID]), func(s string) bool { return s == string(daemon.StepPending) })
			if got := steps[p.Steps[i].ID]; !slices.Equal(got, went) {
				w.fail("step %d of pipeline %d was %v, but the log has %v", i+1, p.ID, went, got)
			}
		}
		for a := range each(agents) {
			if a.PipelineID != nil && *a.PipelineID == p.ID && a.Active() && a.StopStage != daemon.StopFailed && p.Status != daemon.PipelineRunning {
				w.fail("agent %d is %s, but its pipeline %d is %s", a.ID, a.State, p.ID, p.Status)
			}
		}
	}
}
