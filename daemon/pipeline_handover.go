package daemon

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon/event"
)

// stepOver says why the outgoing agent's step needs no successor any more; "": the step needs one, or the agent works on
// no step.
// A change that gives a step another agent, or ends the step, also writes the row of the step's newest agent. A handoff
// does so with its successor, and a pipeline with a new agent or with the end of the step. If two such changes come at
// once, the second gets ErrMoved.
func (r *handoffRun) stepOver() (string, error) {
	p, s, err := r.d.stepOf(r.ctx, r.agent)
	if err != nil || s == nil || s.Status == StepRunning && s.newestAgent() == r.agent.ID {
		return "", err
	}
	return fmt.Sprintf("step %d of pipeline %d is %s and goes on without it", s.OrderIndex+1, p.ID, s.Status), nil
}

// notNeeded ends a handoff whose step goes on without it. The record is kept, because a resume of the pipeline continues
// from it.
func (r *handoffRun) notNeeded(why string) outcome {
	return outcome{
		fail: &Failure{Phase: r.h.Phase, Code: CodeStepOver, Message: fmt.Sprintf(
			"No successor is started: %s; the record is kept, and `understudy pipeline resume %d` goes on from it if the pipeline has failed.", why, *r.agent.PipelineID)},
		then: func() { r.d.cleanUp(r.ctx, r.agent) }, // the dead pane was kept for the successor, which does not come
	}
}

// stepWants refuses to retry the handoff of a step's agent unless the step is running and waits for this handoff. If the
// step has failed, a resume of the pipeline starts the successor; a successor of the retry would work outside any step.
// A step that ends writes the row of its agent, so the caller must write the row a.
func (d *Daemon) stepWants(ctx context.Context, h *Handoff, a *Agent) error {
	p, s, err := d.stepOf(ctx, a)
	if err != nil || s == nil {
		return err
	}
	ours := append(h.SuccessorIDs(), h.AgentID)
	switch newest := slices.Contains(ours, s.newestAgent()); {
	case newest && s.Status == StepRunning:
		return nil
	case newest && p.Status == PipelineFailed:
		return Errorf(KindConflict, CodePipelineFailed, "Pipeline %d has failed: `understudy pipeline resume %[1]d` goes on with this handoff", p.ID)
	}
	return Errorf(KindConflict, CodeStepOver, "Step %d of pipeline %d goes on without this handoff: it is %s", s.OrderIndex+1, p.ID, s.Status)
}

// handover decides about the handoff of prev, the agent of the last attempt at a step, when the step begins again. If the
// handoff is open, handover waits for it. If it failed after its record, handover retries it once, so that the step
// continues from the record. nil: start a new agent for the step.
func (r *pipelineRun) handover(s *Step, prev *Agent) *runOutcome {
	h, err := r.handoffOf(prev)
	switch {
	case err != nil:
		return &runOutcome{err: err}
	case h == nil:
		return nil
	case h.Open():
		return &runOutcome{again: time.Second, note: fmt.Sprintf("handoff %d of agent %d comes to its end", h.ID, h.AgentID)}
	case h.Phase != Failed || h.RecordedAt == nil || h.Retrying:
		return nil
	}
	a := *prev
	if h.AgentID != a.ID { // prev is its successor
		if a, err = r.d.Store.Agent(r.ctx, h.AgentID); err != nil {
			return &runOutcome{err: err}
		}
	}
	c, err := r.d.retryChange(r.ctx, h, &a)
	switch {
	case RefusalIn(err) != nil: // the handoff can't be retried: start a new agent
		r.d.Log.Warn("step begins anew, its handoff can't be retried", "pipeline_id", r.p.ID, "handoff_id", h.ID, "error", err)
		return nil
	case err != nil:
		return &runOutcome{err: err}
	}
	r.underWay(s)
	if c.NewAgent != nil {
		s.AgentIDs = append(s.AgentIDs, c.NewAgent.ID)
	}
	c.PipelineMove = &PipelineMove{Steps: []*Step{s}}
	c.write(prev)
	e := r.event(event.StepRunning, s, map[string]any{"handoff_id": h.ID, "taken_up": true})
	e.HandoffID = &h.ID
	c.Events = append(c.Events, e)
	return &runOutcome{with: c, err: r.warnShared(c)}
}

// write adds an agent's row to the change, unless the change has it already.
func (c *Change) write(a *Agent) {
	if !slices.ContainsFunc(c.Agents, func(other *Agent) bool { return other.ID == a.ID }) {
		c.Agents = append(c.Agents, a)
	}
}
