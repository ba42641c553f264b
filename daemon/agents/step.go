package agents

import (
	"context"
	"fmt"

	"github.com/understudyd/understudy/daemon"
)

// StepOf returns the step that an agent works on, and its pipeline; nil: the agent works on none.
func (d *Launcher) StepOf(ctx context.Context, a *daemon.Agent) (*daemon.Pipeline, *daemon.Step, error) {
	if a.PipelineID == nil || a.StepID == nil {
		return nil, nil, nil
	}
	p, err := d.Store.Pipeline(ctx, *a.PipelineID)
	if err != nil {
		return nil, nil, fmt.Errorf("agent %d: pipeline %d: %w", a.ID, *a.PipelineID, err)
	}
	s := p.Step(*a.StepID)
	if s == nil {
		return nil, nil, fmt.Errorf("agent %d: pipeline %d has no step %d", a.ID, p.ID, *a.StepID)
	}
	return &p, s, nil
}
