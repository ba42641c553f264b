package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/understudyd/understudy/daemon/event"
)

// Pipelines that had failed because the agent of their step ended with its tmux server go on by themselves after a start, if the
// operator has opted in to that (resume and pipeline.resume). Each does once: its row says so, in the commit that resumes it.

// resumePipelines resumes the pipelines whose agents had died before the start. died holds these agents.
func resumePipelines(d *Daemon, ctx context.Context, pipelines []Pipeline, died map[int64]bool) error {
	if !d.Settings().Pipeline.Resume {
		return nil
	}
	for i := range pipelines {
		p := &pipelines[i]
		if p.Host != d.Host || !interrupted(p, died) || d.now().Sub(p.UpdatedAt) >= recent {
			continue
		}
		_, err := d.changePipeline(ctx, p.ID, func(r *pipelineRun) (*Change, error) {
			if !interrupted(r.p, died) {
				return nil, ErrUnchanged // somebody was first
			}
			r.p.ResumedAt = &r.now
			c, err := resumption(r, false)
			if err != nil {
				return nil, err
			}
			e := r.event(event.PipelineWarning, r.p.front(), map[string]any{"message": fmt.Sprintf(
				"Pipeline %d (%s) goes on: the agent of its step had ended with its tmux server. See `understudy pipeline show %[1]d`.", r.p.ID, r.p.Title)})
			e.Alert = true
			c.Events = append(c.Events, e)
			return c, nil
		})
		if err != nil && !errors.Is(err, ErrUnchanged) {
			return err
		}
	}
	return nil
}

// interrupted reports whether a pipeline has failed because the agent of its step was among those that died before the start, and
// was not resumed for that before.
func interrupted(p *Pipeline, died map[int64]bool) bool {
	s := p.front()
	return p.Status == PipelineFailed && p.ErrorCode == CodeAgentGone && p.ResumedAt == nil && s != nil && died[s.newestAgent()]
}

// resumption makes the change by which a failed pipeline goes on; with skip, after the step that has failed.
func resumption(r *pipelineRun, skip bool) (*Change, error) {
	if !r.p.allows(byResume) {
		return nil, Errorf(KindConflict, CodePipelineNotFailed, "Only a failed pipeline can be resumed: this one is %s", r.p.Status)
	}
	if s := r.p.AwaitsWay(); s != nil && skip {
		return nil, Errorf(KindConflict, CodeStepUndecided, "It is not decided which step comes after step %d (%s), so none can be skipped: `understudy pipeline resume %d` asks again", s.OrderIndex+1, s.AgentName, r.p.ID)
	}
	r.p.Error, r.p.ErrorCode, r.p.Hint, r.p.FinishedAt = nil, "", "", nil
	move := &PipelineMove{}
	var events []*event.Event
	s := r.p.front()
	switch {
	case s != nil && skip:
		left := &Change{PipelineMove: move}
		for _, each := range r.p.skipped(s) {
			r.skip(each, left)
		}
		events = append(events, left.Events...)
		if next := r.p.front(); next != nil {
			next.CameFrom = &s.ID
			move.Steps = append(move.Steps, next)
		}
	case s != nil && target(waysFrom(stepStages, s.Status), byResume) != "":
		s.Status, s.Error, s.FinishedAt, s.StartedAt = StepPending, nil, nil, nil
		move.Steps = []*Step{s}
	}
	c := r.goAhead()
	c.PipelineMove = move
	if t, err := r.tree(); err != nil {
		return nil, err
	} else if t != nil && t.State == TreeFailed && t.Task == nil {
		t.State = TreePlanned
		c.Worktrees = []*Worktree{t}
	}
	if s != nil && skip {
		if err := r.sendAway(s, c); err != nil {
			return nil, err
		}
	}
	c.Events = append(append([]*event.Event{r.event(event.PipelineResumed, r.p.front(), map[string]any{"skip": skip})}, events...), c.Events...)
	return c, nil
}
