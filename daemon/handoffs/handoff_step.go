package handoffs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// stepOver says why the outgoing agent's step needs no successor any more; "": the step needs one, or the agent works on
// no step.
// A change that gives a step another agent, or ends the step, also writes the row of the step's newest agent. A handoff
// does so with its successor, and a pipeline with a new agent or with the end of the step. If two such changes come at
// once, the second gets ErrMoved.
func (r *handoffRun) stepOver() (string, error) {
	p, s, err := r.d.StepOf(r.ctx, r.agent)
	if err != nil || s == nil || s.Status == daemon.StepRunning && s.NewestAgent() == r.agent.ID {
		return "", err
	}
	return fmt.Sprintf("step %d of pipeline %d is %s and goes on without it", s.OrderIndex+1, p.ID, s.Status), nil
}

// notNeeded ends a handoff whose step goes on without it. The record is kept, because a resume of the pipeline continues
// from it.
func (r *handoffRun) notNeeded(why string) outcome {
	return outcome{
		fail: &daemon.Failure{Phase: r.h.Phase, Code: daemon.CodeStepOver, Message: fmt.Sprintf(
			"No successor is started: %s; the record is kept, and `understudy pipeline resume %d` goes on from it if the pipeline has failed.", why, *r.agent.PipelineID)},
		then: func() { r.d.CleanUp(r.ctx, r.agent) }, // the dead pane was kept for the successor, which does not come
	}
}

// stepWants refuses to retry the handoff of a step's agent unless the step is running and waits for this handoff. If the
// step has failed, a resume of the pipeline starts the successor; a successor of the retry would work outside any step.
// A step that ends writes the row of its agent, so the caller must write the row a.
func (d *Flow) stepWants(ctx context.Context, h *daemon.Handoff, a *daemon.Agent) error {
	p, s, err := d.StepOf(ctx, a)
	if err != nil || s == nil {
		return err
	}
	ours := append(h.SuccessorIDs(), h.AgentID)
	switch newest := slices.Contains(ours, s.NewestAgent()); {
	case newest && s.Status == daemon.StepRunning:
		return nil
	case newest && p.Status == daemon.PipelineFailed:
		return daemon.Errorf(daemon.KindConflict, daemon.CodePipelineFailed, "Pipeline %d has failed: `understudy pipeline resume %[1]d` goes on with this handoff", p.ID)
	}
	return daemon.Errorf(daemon.KindConflict, daemon.CodeStepOver, "Step %d of pipeline %d goes on without this handoff: it is %s", s.OrderIndex+1, p.ID, s.Status)
}

// stepRecords returns what the steps before an agent's step have left, as records, the newest first. Their messages are
// read only with messages.
func (d *Flow) stepRecords(ctx context.Context, a *daemon.Agent, messages bool) (records []daemon.Record, err error) {
	p, s, err := d.StepOf(ctx, a)
	if err != nil || s == nil {
		return nil, err
	}
	for i := s.OrderIndex - 1; i >= 0; i-- {
		left := p.Steps[i].LatestHandoff
		if left == nil {
			continue
		}
		name := p.Steps[i].AgentName
		rec := daemon.Record{AgentID: left.AgentID, Agent: name, Persona: p.Steps[i].Who(), At: left.CreatedAt}
		if left.Metadata != nil && left.Metadata.DecisionsMade != nil {
			rec.Decisions = data.ParseDecisions(*left.Metadata.DecisionsMade, name, left.CreatedAt)
		}
		if messages {
			large, err := d.Store.StepRecord(ctx, left.ID)
			if err != nil && !errors.Is(err, daemon.ErrNotFound) {
				return nil, fmt.Errorf("output %d: %w", left.ID, err)
			}
			rec.Messages, rec.References = large.Messages, large.References
		}
		records = append(records, rec)
	}
	return records, nil
}
