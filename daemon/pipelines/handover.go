package pipelines

import (
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// handover decides about the handoff of prev, the agent of the last attempt at a step, when the step begins again. If the
// handoff is open, handover waits for it. If it failed after its record, handover retries it once, so that the step
// continues from the record. nil: start a new agent for the step.
func (r *pipelineRun) handover(s *daemon.Step, prev *daemon.Agent) *runOutcome {
	h, err := r.handoffOf(prev)
	switch {
	case err != nil:
		return &runOutcome{err: err}
	case h == nil:
		return nil
	case h.Open():
		return &runOutcome{again: time.Second, note: fmt.Sprintf("handoff %d of agent %d comes to its end", h.ID, h.AgentID)}
	case h.Phase != daemon.Failed || h.RecordedAt == nil || h.Retrying:
		return nil
	}
	a := *prev
	if h.AgentID != a.ID { // prev is its successor
		if a, err = r.room.store.Agent(r.ctx, h.AgentID); err != nil {
			return &runOutcome{err: err}
		}
	}
	c, err := r.room.env.RetryChange(r.ctx, h, &a)
	switch {
	case daemon.RefusalIn(err) != nil: // the handoff can't be retried: start a new agent
		r.room.env.Log.Warn("step begins anew, its handoff can't be retried", "pipeline_id", r.p.ID, "handoff_id", h.ID, "error", err)
		return nil
	case err != nil:
		return &runOutcome{err: err}
	}
	r.underWay(s)
	if c.NewAgent != nil {
		s.AgentIDs = append(s.AgentIDs, c.NewAgent.ID)
	}
	c.PipelineMove = &daemon.PipelineMove{Steps: []*daemon.Step{s}}
	c.WriteAgent(prev)
	e := r.event(event.StepRunning, s, map[string]any{"handoff_id": h.ID, "taken_up": true})
	e.HandoffID = &h.ID
	c.Events = append(c.Events, e)
	return &runOutcome{with: c, err: r.warnShared(c)}
}
