package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
)

// runChecks hold what must be true of runs.
type runChecks struct {
	ran      map[int64][]string // of each run, as it went through them
	stepped  map[int64][]string // of each step
	approved map[int64]bool     // steps that somebody has approved, or may have
	resumed  map[int64]int      // how often somebody may have resumed a run
	wentOn   map[int64]int      // how often a run that had failed went on
	told     map[int64]int      // how often an agent was given the prompt of its step
}

func newRunChecks() runChecks {
	return runChecks{map[int64][]string{}, map[int64][]string{}, map[int64]bool{}, map[int64]int{}, map[int64]int{}, map[int64]int{}}
}

// maxRunning is the setting pipeline.max_running of all hosts.
const maxRunning = 2

// checkRuns holds what must be true of runs after each transaction.
func (w *world) checkRuns(agents []daemon.Agent, handoffs []daemon.Handoff) {
	atWork := map[string]int{}
	for _, p := range w.runs() {
		w.checkRun(&p)
		front := p.Front()
		for i := range p.Steps {
			w.checkStep(&p, &p.Steps[i], i > front, agents)
		}
		if p.Status == daemon.PipelineRunning {
			if atWork[p.Host]++; atWork[p.Host] > maxRunning {
				w.fail("run %d is at work on %s as the %dth", p.ID, p.Host, atWork[p.Host])
			}
		}
		w.checkAgentsOf(&p, agents)
		w.checkHandoffsOf(&p, handoffs)
	}
}

// checkHandoffsOf: no handoff of a step goes on, unless it is recorded, when the step does not.
func (w *world) checkHandoffsOf(p *daemon.Pipeline, handoffs []daemon.Handoff) {
	for i := range handoffs {
		h := &handoffs[i]
		for j := range p.Steps {
			if s := &p.Steps[j]; s.Status != daemon.StepRunning && h.Open() && h.RecordedAt == nil && slices.Contains(s.AgentIDs, h.AgentID) {
				w.fail("step %d of run %d is %s, and handoff %d of its agent %d is %s", j+1, p.ID, s.Status, h.ID, h.AgentID, h.Phase)
			}
		}
	}
}

// went notes where a row stands, and says where it came from. begins are the states in which it may begin.
func (w *world) went(table int, list []string, what, now string, begins ...string) (after []string, from string) {
	if len(list) == 0 {
		if !slices.Contains(begins, now) {
			w.fail("%s begins as %s", what, now)
		}
		return []string{now}, ""
	}
	if from = list[len(list)-1]; from == now {
		return list, from
	}
	w.checkMove(table, what, from, now)
	return append(list, now), from
}

func (w *world) checkRun(p *daemon.Pipeline) {
	list, from := w.went(1, w.ran[p.ID], fmt.Sprintf("run %d", p.ID), string(p.Status), "pending", "running")
	w.ran[p.ID] = list
	if from == "failed" && p.Status != daemon.PipelineFailed {
		if w.wentOn[p.ID]++; w.wentOn[p.ID] > w.resumed[p.ID] {
			w.fail("run %d had failed and goes on, and nobody has resumed it", p.ID)
		}
	}
	switch {
	case p.Status == daemon.PipelineDone && p.Front() < len(p.Steps):
		w.fail("run %d is done, and its step %d is %s", p.ID, p.Front()+1, p.Steps[p.Front()].Status)
	case p.Status == daemon.PipelineFailed && (p.Error == nil || p.ErrorCode == "" || p.Hint == ""):
		w.fail("run %d failed without saying why, or what to do next", p.ID)
	}
}

// checkStep: later says that steps before it are not over.
func (w *world) checkStep(p *daemon.Pipeline, s *daemon.Step, later bool, agents []daemon.Agent) {
	what := fmt.Sprintf("step %d of run %d", s.OrderIndex+1, p.ID)
	w.stepped[s.ID], _ = w.went(2, w.stepped[s.ID], what, string(s.Status), "pending")
	started := s.Status == daemon.StepRunning || s.Status == daemon.StepDone
	switch {
	case later && s.Status != daemon.StepPending:
		w.fail("%s is %s, and a step before it is not over", what, s.Status)
	case started && s.Approval && (s.ApprovedAt == nil || !w.approved[s.ID]):
		w.fail("%s is %s, and nobody has approved it", what, s.Status)
	case s.Status == daemon.StepRunning && p.Status != daemon.PipelineRunning:
		w.fail("%s is running, and the run is %s", what, p.Status)
	case s.Status == daemon.StepDone && s.LatestHandoff == nil:
		w.fail("%s is done, and has left nothing", what)
	case s.Status == daemon.StepFailed && (s.Error == nil || *s.Error == ""):
		w.fail("%s failed without saying why", what)
	}
	if s.Status != daemon.StepRunning {
		return
	}
	for i := range agents {
		a := &agents[i]
		if a.PipelineID == nil || *a.PipelineID != p.ID || *a.StepID == s.ID || !a.Active() || a.StopStage == daemon.StopFailed {
			continue
		}
		w.fail("%s is running, and agent %d of another step still is %s", what, a.ID, a.State)
	}
}

// checkAgentsOf: at most one agent works for a run, and none for one that has ended.
func (w *world) checkAgentsOf(p *daemon.Pipeline, agents []daemon.Agent) {
	var works []int64
	for i := range agents {
		if a := &agents[i]; a.PipelineID != nil && *a.PipelineID == p.ID && a.Active() && a.StopAskedAt == nil {
			works = append(works, a.ID)
		}
	}
	if len(works) > 1 {
		w.fail("agents %v work for run %d, all at once", works, p.ID)
	}
	if len(works) > 0 && !p.Open() {
		w.fail("agent %d works for run %d, which is %s", works[0], p.ID, p.Status)
	}
}

// takenByStep is called when the model of an agent is given a prompt.
func (w *world) takenByStep(a *agent, prompt string) {
	row, err := w.lent.Agent(ctx(), a.id)
	if err != nil || row.StepID == nil {
		return
	}
	s := w.step(*row.PipelineID, *row.StepID)
	if s == nil || !runtimes.MatchesPrompt(prompt, runtimes.FirstPrompt(s.Input)) { // a person may have typed behind it
		return
	}
	switch w.told[a.id]++; {
	case row.PreviousAgentID != nil:
		w.fail("agent %d took over step %d, and is given its prompt as if it began", a.id, s.ID)
	case w.told[a.id] > 1:
		w.fail("agent %d is given the prompt of step %d for the %dth time", a.id, s.ID, w.told[a.id])
	}
}

func (w *world) step(run, id int64) *daemon.Step {
	p, err := w.lent.Pipeline(ctx(), run)
	if err != nil {
		w.fail("%v", err)
		return nil
	}
	for i := range p.Steps {
		if p.Steps[i].ID == id {
			return &p.Steps[i]
		}
	}
	w.fail("run %d has no step %d", run, id)
	return nil
}

// checkOutput: what a step leaves is what its agent said at the end of a turn, and the agent was told what to do.
func (w *world) checkOutput(out *daemon.StepHandoff) {
	for _, a := range w.agents {
		if a.id != out.AgentID {
			continue
		}
		row, err := w.lent.Agent(ctx(), a.id)
		switch {
		case err != nil:
			w.fail("%v", err)
		case !slices.Contains(a.answers, out.ContentMD):
			w.fail("step %d left %.60q, which agent %d has not said", out.StepID, out.ContentMD, a.id)
		case row.PreviousAgentID == nil && w.told[a.id] != 1:
			w.fail("step %d is over, and agent %d was given its prompt %d times", out.StepID, a.id, w.told[a.id])
		}
	}
}

// runsFinished reports whether every run has ended, or waits for a person.
func (w *world) runsFinished() bool {
	return !slices.ContainsFunc(w.runs(), func(p daemon.Pipeline) bool {
		return p.Status == daemon.PipelinePending || p.Status == daemon.PipelineRunning
	})
}

// runsUnfinished says which runs do not come to their end.
func (w *world) runsUnfinished() {
	for _, p := range w.runs() {
		if p.Status == daemon.PipelinePending || p.Status == daemon.PipelineRunning {
			w.fail("run %d is still %s (%s) %s after the last fault", p.ID, p.Status, p.Note, patience)
		}
	}
}

// runsEnded holds what must be true of runs at the end: the log tells of each move, and failures are alerts.
func (w *world) runsEnded(agents []daemon.Agent, events []daemon.Event) {
	statuses, steps := map[int64][]string{}, map[int64][]string{}
	for i := range events {
		e := &events[i]
		if e.PipelineID == nil {
			continue
		}
		switch e.Type {
		case "pipeline_created", "pipeline_running", "pipeline_pending", "pipeline_waiting_for_approval", "pipeline_done", "pipeline_failed":
			statuses[*e.PipelineID] = append(statuses[*e.PipelineID], word(e, "status"))
		case "step_running", "step_done", "step_failed", "step_skipped":
			steps[*e.StepID] = append(steps[*e.StepID], strings.TrimPrefix(e.Type, "step_"))
		}
		if code := word(e, "code"); e.Type == "pipeline_failed" && !e.Alert && code != "aborted" && code != "rejected" {
			w.fail("run %d failed (%s) without an alert", *e.PipelineID, code)
		}
	}
	for _, p := range w.runs() {
		if got := statuses[p.ID]; !slices.Equal(got, w.ran[p.ID]) {
			w.fail("run %d went through %v, and the log tells of %v", p.ID, w.ran[p.ID], got)
		}
		for i := range p.Steps {
			went := slices.DeleteFunc(slices.Clone(w.stepped[p.Steps[i].ID]), func(s string) bool { return s == string(daemon.StepPending) })
			if got := steps[p.Steps[i].ID]; !slices.Equal(got, went) {
				w.fail("step %d of run %d went through %v, and the log tells of %v", i+1, p.ID, went, got)
			}
		}
		for i := range agents {
			if a := &agents[i]; a.PipelineID != nil && *a.PipelineID == p.ID && a.Active() && a.StopStage != daemon.StopFailed {
				w.fail("agent %d is %s, and its run %d is %s", a.ID, a.State, p.ID, p.Status)
			}
		}
	}
}
