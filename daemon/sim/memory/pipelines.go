package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/understudyd/understudy/daemon"
)

// admit refuses the change if its pipeline must not run yet. A running pipeline uses one place, together with all its
// agents. An active agent of a pipeline that waits or has ended uses one place too. Pending pipelines are admitted in
// the order of their ids.
func (t *tx) admit() error {
	if t.c.Admit == 0 {
		return nil
	}
	pipelines := []*daemon.Pipeline{t.c.NewPipeline}
	if t.c.PipelineMove != nil {
		pipelines = append(pipelines, t.c.PipelineMove.Pipeline)
	}
	for _, p := range pipelines {
		if p != nil && !t.hasRoom(p, t.c.Admit) {
			t.refuse(fmt.Errorf("pipeline %d: %w", p.ID, daemon.ErrNoRoom))
		}
	}
	return nil
}

func (s *rowStore) hasRoom(p *daemon.Pipeline, admit int) bool {
	used := 0
	for id, other := range s.pipelines.all() {
		switch {
		case other.Host != p.Host || id == p.ID:
		case other.Status == daemon.PipelineRunning:
			used++
		case other.Status == daemon.PipelinePending && id < p.ID:
			return false
		}
	}
	for _, a := range s.agents.all() {
		if a.Host != p.Host || !a.Active() || a.PipelineID == nil || *a.PipelineID == p.ID {
			continue
		}
		if s.pipelines.get(*a.PipelineID).Status != daemon.PipelineRunning {
			used++
		}
	}
	return used < admit
}

func (t *tx) pipelineRows() error {
	if p := t.c.NewPipeline; p != nil {
		if t.pipelines.get(p.ID) != nil {
			return violation("pipelines_pkey")
		}
		if err := t.putPipeline(p); err != nil {
			return err
		}
		for i := range p.Steps {
			if t.steps.get(p.Steps[i].ID) != nil {
				return violation("steps_pkey")
			}
			if err := t.putStep(p.ID, &p.Steps[i]); err != nil {
				return err
			}
		}
	}
	return inOrder(t.changePipeline, t.output)
}

// changePipeline writes a pipeline with its steps.
func (t *tx) changePipeline() error {
	if t.c.PipelineMove == nil {
		return nil
	}
	p := t.c.PipelineMove.Pipeline
	next := *p
	next.Seq++
	if row := t.pipelines.get(p.ID); row == nil || row.Seq != p.Seq {
		t.refuse(fmt.Errorf("pipeline %d: %w", p.ID, daemon.ErrMoved))
	} else if err := t.putPipeline(&next); err != nil {
		return err
	}
	t.done = append(t.done, func() { p.Seq = next.Seq })
	for _, step := range t.c.PipelineMove.InOrder() {
		if row := t.steps.get(step.ID); row == nil || row.PipelineID != p.ID {
			t.refuse(fmt.Errorf("step %d of pipeline %d: %w", step.ID, p.ID, daemon.ErrMoved))
		} else if err := t.putStep(p.ID, step); err != nil {
			return err
		}
	}
	for _, step := range t.c.PipelineMove.NewSteps {
		if t.steps.get(step.ID) != nil {
			return violation("steps_pkey")
		}
		if err := t.putStep(p.ID, step); err != nil {
			return err
		}
	}
	return nil
}

var (
	pipelineStatuses = []daemon.PipelineStatus{
		daemon.PipelinePending, daemon.PipelineRunning, daemon.PipelineWaiting, daemon.PipelineDone, daemon.PipelineFailed,
	}
	stepStatuses = []daemon.StepStatus{daemon.StepPending, daemon.StepRunning, daemon.StepDone, daemon.StepFailed, daemon.StepSkipped}
)

func (t *tx) putPipeline(p *daemon.Pipeline) error {
	bare := *p
	bare.Steps, bare.CurrentAgentID = nil, nil
	row := kept(bare)
	if err := check(
		"pipelines_failed", (row.Status == daemon.PipelineFailed) == (row.Error != nil),
		"pipelines_finished", row.Open() == (row.FinishedAt == nil),
		"pipelines_status_known", slices.Contains(pipelineStatuses, row.Status),
	); err != nil {
		return err
	}
	write(t, &t.pipelines, row.ID, &row)
	return nil
}

func (t *tx) putStep(pipelineID int64, s *daemon.Step) error {
	bare := *s
	bare.PipelineID, bare.AgentIDs, bare.LatestHandoff = pipelineID, nil, nil
	row := kept(bare)
	sibling := func(is func(*daemon.Step) bool) bool {
		return t.steps.any(row.ID, func(b *daemon.Step) bool { return b.PipelineID == pipelineID && is(b) })
	}
	if err := check(
		"steps_status_known", slices.Contains(stepStatuses, row.Status),
		"steps_order", !sibling(func(b *daemon.Step) bool { return b.OrderIndex == row.OrderIndex }),
		"steps_one_running", row.Status != daemon.StepRunning || !sibling(func(b *daemon.Step) bool { return b.Status == daemon.StepRunning }),
		"steps_came_from_key", row.CameFrom == nil || !t.steps.any(row.ID, func(b *daemon.Step) bool { return b.CameFrom != nil && *b.CameFrom == *row.CameFrom }),
	); err != nil {
		return err
	}
	write(t, &t.steps, row.ID, &row)
	return check(
		"steps_pipeline_id_fkey", t.pipelines.get(pipelineID) != nil,
		"steps_came_from_fkey", row.CameFrom == nil || t.steps.get(*row.CameFrom) != nil,
	)
}

func (t *tx) output() error {
	if t.c.NewOutput == nil {
		return nil
	}
	row := kept(*t.c.NewOutput)
	if err := check(
		"step_handoffs_pkey", t.outputs.get(row.ID) == nil,
		"step_handoffs_step_id_key", !t.outputs.any(row.ID, func(b *daemon.StepHandoff) bool { return b.StepID == row.StepID }),
	); err != nil {
		return err
	}
	write(t, &t.outputs, row.ID, &row)
	if t.c.NewStepRecord != nil {
		rec := kept(*t.c.NewStepRecord)
		write(t, &t.stepRecords, row.ID, &rec)
	}
	return check(
		"step_handoffs_step_id_fkey", t.steps.get(row.StepID) != nil,
		"step_handoffs_agent_id_fkey", t.agents.get(row.AgentID) != nil,
	)
}

// addSteps sets the fields of a pipeline that its row does not hold: its steps, and the derived fields.
func (s *rowStore) addSteps(p *daemon.Pipeline) {
	p.Steps = collect(&s.view, s.steps.all(), -1, func(step *daemon.Step) bool { return step.PipelineID == p.ID })
	slices.SortFunc(p.Steps, func(a, b daemon.Step) int { return cmp.Compare(a.OrderIndex, b.OrderIndex) })
	for i := range p.Steps {
		step := &p.Steps[i]
		step.AgentIDs = []int64{}
		for id, a := range s.agents.all() {
			if a.StepID != nil && *a.StepID == step.ID {
				step.AgentIDs = append(step.AgentIDs, id)
			}
		}
		if n := len(step.AgentIDs); n > 0 && step.Status == daemon.StepRunning {
			newest := step.AgentIDs[n-1]
			p.CurrentAgentID = &newest
		}
		if left := collect(&s.view, s.outputs.all(), 1, func(o *daemon.StepHandoff) bool { return o.StepID == step.ID }); len(left) > 0 {
			step.LatestHandoff = &left[0]
		}
	}
}

// Pipeline returns a pipeline with its steps; [daemon.ErrNotFound] for an unknown id.
func (s *rowStore) Pipeline(ctx context.Context, id int64) (daemon.Pipeline, error) {
	return one(ctx, &s.view, &s.pipelines, id, "pipeline %d", s.addSteps)
}

// StepRecord returns the large part of a step's output; [daemon.ErrNotFound] if none was stored with it.
func (s *rowStore) StepRecord(ctx context.Context, outputID int64) (daemon.StepRecord, error) {
	return one(ctx, &s.view, &s.stepRecords, outputID, "record of output %d", nil)
}

// Pipelines lists pipelines with their steps, the newest first.
func (s *rowStore) Pipelines(ctx context.Context, f daemon.PipelineFilter) ([]daemon.Pipeline, error) {
	leave, err := s.enter(ctx, "list of pipelines")
	if err != nil {
		return nil, err
	}
	defer leave()
	pipelines := collect(&s.view, s.pipelines.newest(), limitOr(f.Limit, 100), func(p *daemon.Pipeline) bool {
		return (f.Status == "" || p.Status == f.Status) &&
			(f.Template == "" || p.Template == f.Template) &&
			(f.Host == "" || p.Host == f.Host) &&
			(!f.Open || p.Open()) &&
			(f.Before == 0 || p.ID < f.Before)
	})
	for i := range pipelines {
		s.addSteps(&pipelines[i])
	}
	return pipelines, nil
}

// PipelinePlaces returns the working directories of the host's open pipelines, the oldest first.
func (s *rowStore) PipelinePlaces(ctx context.Context, host string) ([]daemon.PipelinePlace, error) {
	leave, err := s.enter(ctx, "places of pipelines")
	if err != nil {
		return nil, err
	}
	defer leave()
	places := []daemon.PipelinePlace{}
	for id, p := range s.pipelines.all() {
		if p.Host == host && p.Open() {
			places = append(places, daemon.PipelinePlace{ID: id, WorkDir: p.WorkDir})
		}
	}
	return places, nil
}

// openPipelines returns the ids of the host's open pipelines, the oldest first: of the pending ones only the oldest.
func (s *rowStore) openPipelines(host string) []int64 {
	ids, pending := []int64{}, false
	for id, p := range s.pipelines.all() {
		if p.Host != host || !p.Open() || pending && p.Status == daemon.PipelinePending {
			continue
		}
		pending = pending || p.Status == daemon.PipelinePending
		ids = append(ids, id)
	}
	return ids
}
