package pipelines

import (
	"context"
	"errors"
	"fmt"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
)

// Pipelines that had failed because the agent of their step ended with its tmux server go on by themselves after a start, if the
// operator has opted in to that (resume and pipeline.resume). Each does once: its row says so, in the commit that resumes it.

// resumePipelines resumes the pipelines whose agents had died before the start. died holds these agents.
func (room *Room) resumePipelines(ctx context.Context, pipelines []daemon.Pipeline, died map[int64]bool) error {
	if !room.env.Settings().Pipeline.Resume {
		return nil
	}
	for i := range pipelines {
		p := &pipelines[i]
		if p.Host != room.env.Host || !interrupted(p, died) || room.env.Now().Sub(p.UpdatedAt) >= daemon.Recently {
			continue
		}
		_, err := room.changePipeline(ctx, p.ID, func(r *pipelineRun) (*daemon.Change, error) {
			if !interrupted(r.p, died) {
				return nil, engine.ErrUnchanged // somebody was first
			}
			r.p.ResumedAt = &r.now
			c, err := resumption(r, false)
			if err != nil {
				return nil, err
			}
			e := r.event(event.PipelineWarning, r.p.FrontStep(), map[string]any{"message": fmt.Sprintf(
				"Pipeline %d (%s) goes on: the agent of its step had ended with its tmux server. See `understudy pipeline show %[1]d`.", r.p.ID, r.p.Title)})
			e.Alert = true
			c.Events = append(c.Events, e)
			return c, nil
		})
		if err != nil && !errors.Is(err, engine.ErrUnchanged) {
			return err
		}
	}
	return nil
}

// interrupted reports whether a pipeline has failed because the agent of its step was among those that died before the start, and
// was not resumed for that before.
func interrupted(p *daemon.Pipeline, died map[int64]bool) bool {
	s := p.FrontStep()
	return p.Status == daemon.PipelineFailed && p.ErrorCode == daemon.CodeAgentGone && p.ResumedAt == nil && s != nil && died[s.NewestAgent()]
}

// resumption makes the change by which a failed pipeline goes on; with skip, after the step that has failed.
func resumption(r *pipelineRun, skip bool) (*daemon.Change, error) {
	if !r.p.Allows(daemon.ByResume) {
		return nil, daemon.Errorf(daemon.KindConflict, daemon.CodePipelineNotFailed, "Only a failed pipeline can be resumed: this one is %s", r.p.Status)
	}
	if s := r.p.AwaitsWay(); s != nil && skip {
		return nil, daemon.Errorf(daemon.KindConflict, daemon.CodeStepUndecided, "It is not decided which step comes after step %d (%s), so none can be skipped: `understudy pipeline resume %d` asks again", s.OrderIndex+1, s.AgentName, r.p.ID)
	}
	r.p.Error, r.p.ErrorCode, r.p.Hint, r.p.FinishedAt = nil, "", "", nil
	move := &daemon.PipelineMove{}
	var events []*event.Event
	s := r.p.FrontStep()
	switch {
	case s != nil && skip:
		left := &daemon.Change{PipelineMove: move}
		for _, each := range skipped(r.p, s) {
			r.skip(each, left)
		}
		events = append(events, left.Events...)
		if next := r.p.FrontStep(); next != nil {
			next.CameFrom = &s.ID
			move.Steps = append(move.Steps, next)
		}
	case s != nil && daemon.Target(daemon.WaysFrom(daemon.StepStages, s.Status), daemon.ByResume) != "":
		s.Status, s.Error, s.FinishedAt, s.StartedAt = daemon.StepPending, nil, nil, nil
		move.Steps = []*daemon.Step{s}
	}
	c := r.goAhead()
	c.PipelineMove = move
	if t, err := r.tree(); err != nil {
		return nil, err
	} else if t != nil && t.State == daemon.TreeFailed && t.Task == nil {
		t.Be(daemon.TreePlanned)
		c.Worktrees = []*daemon.Worktree{t}
	}
	if s != nil && skip {
		if err := r.sendAway(s, c); err != nil {
			return nil, err
		}
	}
	c.Events = append(append([]*event.Event{r.event(event.PipelineResumed, r.p.FrontStep(), map[string]any{"skip": skip})}, events...), c.Events...)
	return c, nil
}
