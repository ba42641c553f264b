package pipelines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
)

// Pipeline returns one pipeline.
func (room *Room) Pipeline(ctx context.Context, id int64) (daemon.Pipeline, error) {
	p, err := room.store.Pipeline(ctx, id)
	return p, engine.NotFoundAs(err, daemon.ErrPipelineNotFound)
}

// Pipelines lists pipelines, the newest first.
func (room *Room) Pipelines(ctx context.Context, f daemon.PipelineFilter) ([]daemon.Pipeline, error) {
	return room.store.Pipelines(ctx, f)
}

// changePipeline carries out a command of a person. If another writer changes the pipeline first, changePipeline reads it
// again and calls change again.
func (room *Room) changePipeline(ctx context.Context, id int64, change func(*pipelineRun) (*daemon.Change, error)) (daemon.Pipeline, error) {
	for {
		p, err := room.Pipeline(ctx, id)
		if err != nil {
			return p, err
		}
		r := room.runOf(ctx, &p)
		c, err := change(r)
		if err == nil {
			err = r.commit(c)
		}
		if errors.Is(err, daemon.ErrNoRoom) {
			r.queue(c)
			err = r.commit(c)
		}
		switch {
		case errors.Is(err, daemon.ErrMoved) && ctx.Err() == nil:
			continue
		case err != nil:
			return p, err
		}
		return room.Pipeline(ctx, id)
	}
}

// queue makes a pipeline pending instead of running. The rest of the change stays.
func (r *pipelineRun) queue(c *daemon.Change) {
	r.p.Status, r.p.Note, c.Admit = daemon.PipelinePending, noteRoom, 0
	if r.p.StartedAt == &r.now { // start has set it in this look
		r.p.StartedAt = nil
	}
	c.Events = slices.DeleteFunc(c.Events, func(e *event.Event) bool { return e.Type == event.PipelineRunning })
	c.Events = append(c.Events, r.event(event.PipelinePending, nil, nil))
}

// AbortPipeline fails an open pipeline of any host and its running step, and has the step's agent shut down.
func (room *Room) AbortPipeline(ctx context.Context, id int64) (daemon.Pipeline, error) {
	return room.changePipeline(ctx, id, func(r *pipelineRun) (*daemon.Change, error) {
		if !r.p.Allows(daemon.ByAbort) {
			return nil, daemon.Errorf(daemon.KindConflict, daemon.CodePipelineEnded, "Pipeline has ended: it is %s", r.p.Status)
		}
		f := failure{code: daemon.CodeAborted, says: "Pipeline aborted", hint: fmt.Sprintf("`understudy pipeline resume %d` goes on with it", id)}
		s := r.p.FrontStep()
		if s == nil || s.Status != daemon.StepRunning {
			return r.quietly(r.fail(nil, nil, f)), nil
		}
		a, h, err := r.worker(s)
		if err != nil {
			return nil, err
		}
		out := r.failStep(s, a, h, f)
		if out.err != nil {
			return nil, out.err
		}
		return r.quietly(out.with), nil
	})
}

// quietly takes the alert out of a change that fails a pipeline, because a person asked for the failure.
func (r *pipelineRun) quietly(c *daemon.Change) *daemon.Change {
	for _, e := range c.Events {
		if e.Type == event.PipelineFailed {
			e.Alert = false
		}
	}
	return c
}

// Decision is an approval or a rejection of a step.
type Decision struct {
	StepID  int64 // the step that the person was shown; 0: the step that waits for approval now
	After   bool  // the person was asked what comes after that step, and not about the step itself
	Comment string
	Goto    int // where the rules of a step don't decide: the number of the step in the template that comes next; 0: the following one
}

// ApprovePipeline lets a pipeline that waits for approval go on. The step's prompt ends with the comment.
func (room *Room) ApprovePipeline(ctx context.Context, id int64, in Decision) (daemon.Pipeline, error) {
	comment, err := checkComment(in.Comment)
	if err != nil {
		return daemon.Pipeline{}, err
	}
	return room.changePipeline(ctx, id, func(r *pipelineRun) (*daemon.Change, error) {
		s, err := r.gate(daemon.ByApprove, in)
		if err != nil {
			return nil, err
		}
		if s == r.p.AwaitsWay() {
			return chooseWay(r, s, in.Goto, comment)
		}
		if in.Goto != 0 {
			return nil, daemon.Errorf(daemon.KindConflict, daemon.CodeBadGoto, "Step %d (%s) waits for its approval: goto is of use where the rules of a step don't decide", s.OrderIndex+1, s.AgentName)
		}
		s.ApprovedAt, s.Comment = &r.now, cmp.Or(comment, s.Comment)
		c := r.goAhead()
		c.PipelineMove = &daemon.PipelineMove{Steps: []*daemon.Step{s}}
		c.Events = append([]*event.Event{r.event(event.StepApproved, s, map[string]any{"comment": comment})}, c.Events...)
		return c, nil
	})
}

// RejectPipeline fails a pipeline that waits for approval.
func (room *Room) RejectPipeline(ctx context.Context, id int64, in Decision) (daemon.Pipeline, error) {
	comment, err := checkComment(in.Comment)
	if err != nil {
		return daemon.Pipeline{}, err
	}
	return room.changePipeline(ctx, id, func(r *pipelineRun) (*daemon.Change, error) {
		s, err := r.gate(daemon.ByReject, in)
		if err != nil {
			return nil, err
		}
		f := failure{code: daemon.CodeRejected, says: "Rejected", hint: fmt.Sprintf("`understudy pipeline resume %d` asks for the approval again", id)}
		about := s
		if s == r.p.AwaitsWay() {
			f.hint, about = fmt.Sprintf("`understudy pipeline resume %d` asks again which step comes next", id), nil // the step is done, and stays so
		} else if pastBound(r.p, s) != nil {
			f.hint += ", with --skip it goes on without a further round"
		}
		if comment != "" {
			f.says += ": " + comment
		}
		c := r.fail(about, nil, f)
		c.Events = append([]*event.Event{r.event(event.StepRejected, s, map[string]any{"comment": comment})}, c.Events...)
		return r.quietly(c), nil
	})
}

// gate returns the step that waits for approval. It refuses a command that the pipeline's status does not allow. It also refuses a
// decision about another step, and one about the approval of a step that has ended since: the answer to the first request was lost, and
// what is asked now is what comes after the step.
func (r *pipelineRun) gate(command string, in Decision) (*daemon.Step, error) {
	s := r.p.Asked()
	switch {
	case !r.p.Allows(command) || s == nil:
		return nil, daemon.Errorf(daemon.KindConflict, daemon.CodeNotWaitingForApproval, "Pipeline is not waiting for approval: it is %s", r.p.Status)
	case in.StepID != 0 && in.StepID != s.ID, in.StepID != 0 && s == r.p.AwaitsWay() && s.ApprovedAt != nil && !in.After && in.Goto == 0:
		return nil, daemon.Errorf(daemon.KindConflict, daemon.CodeAnotherStep, "Pipeline %d waits at step %d (%s) by now: look at it again", r.p.ID, s.OrderIndex+1, s.AgentName)
	}
	return s, nil
}

// ResumePipeline lets a failed pipeline go on from its first step that is neither done nor skipped. With skip, it skips
// that step and goes on from the next one.
func (room *Room) ResumePipeline(ctx context.Context, id int64, skip bool) (daemon.Pipeline, error) {
	return room.changePipeline(ctx, id, func(r *pipelineRun) (*daemon.Change, error) { return resumption(r, skip) })
}

// sendAway has the agent of a skipped step shut down, if the agent is active. It may be active because a retry of a
// handoff has started it, or because it could not be ended before.
func (r *pipelineRun) sendAway(s *daemon.Step, c *daemon.Change) error {
	id := s.NewestAgent()
	if id == 0 {
		return nil
	}
	a, err := r.room.store.Agent(r.ctx, id)
	if err != nil || !a.Active() {
		return err
	}
	h, err := r.handoffOf(&a)
	if err != nil {
		return err
	}
	r.dismiss(&a, c, true)
	return r.cancelOpen(h, c)
}

// goAhead makes r.p running and returns the change for that. Because of the change's Admit, Commit returns ErrNoRoom if
// there is no room, and changePipeline then makes the pipeline pending. A pipeline of another host becomes pending at
// once, because only that host's daemon knows its limit.
func (r *pipelineRun) goAhead() *daemon.Change {
	if r.p.Host != r.room.env.Host {
		c := &daemon.Change{}
		r.queue(c)
		return c
	}
	r.start()
	return &daemon.Change{Admit: r.set.MaxRunning, Events: []*event.Event{r.event(event.PipelineRunning, nil, nil)}}
}

func checkComment(comment string) (string, error) {
	comment = strings.TrimSpace(comment)
	if n := len([]rune(comment)); n > maxComment {
		return "", daemon.Errorf(daemon.KindInvalid, daemon.CodeBadComment, "comment has %d characters but at most %d are allowed", n, maxComment)
	}
	return comment, checkText("comment", comment)
}
