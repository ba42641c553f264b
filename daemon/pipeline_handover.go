package daemon

import (
	"context"
	"fmt"
	"slices"
)

// stepOver says why the outgoing agent's step needs no successor any more; "": it does, or it is of
// none. Who retries a handoff has said that they want one: see [Daemon.stepWants].
func (r *handoffRun) stepOver() (string, error) {
	p, s, err := r.d.stepOf(r.ctx, r.agent)
	if err != nil || s == nil || s.Status == StepRunning || r.h.Retrying {
		return "", err
	}
	return fmt.Sprintf("its step of pipeline %d is over, the run is %s", p.ID, p.Status), nil
}

// stepWants refuses to retry the handoff of a step's agent when the step has gone on without it: a
// successor would be a second agent at the same work.
func (d *Daemon) stepWants(ctx context.Context, h *Handoff) error {
	a, err := d.Store.Agent(ctx, h.AgentID)
	if err != nil {
		return err
	}
	p, s, err := d.stepOf(ctx, &a)
	if err != nil || s == nil {
		return err
	}
	ours := []int64{h.AgentID}
	if h.SuccessorID != nil {
		ours = append(ours, *h.SuccessorID)
	}
	if (s.Status == StepRunning || s.Status == StepFailed) && slices.Contains(ours, s.newestAgent()) {
		return nil
	}
	return Errorf(KindConflict, "step_over", "Step %d of pipeline %d has gone on without this handoff: it is %s", s.OrderIndex+1, p.ID, s.Status)
}
