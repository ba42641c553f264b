package pipelines

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktree"
)

// pipelineRun is one look at one pipeline, with the values that the stages need. The stages change the rows in memory,
// and [pipelineRun.commit] writes them.
type pipelineRun struct {
	room *Room
	ctx  context.Context
	now  time.Time
	p    *daemon.Pipeline
	set  daemon.PipelineSettings

	// The statuses when the rows were read. checkMoves compares the new ones with them.
	from daemon.PipelineStatus
	were []daemon.StepStatus
}

// runOf begins a look at a pipeline whose row has just been read.
func (room *Room) runOf(ctx context.Context, p *daemon.Pipeline) *pipelineRun {
	r := &pipelineRun{room: room, ctx: ctx, now: room.env.Now(), p: p, set: room.env.Settings().Pipeline, from: p.Status}
	for i := range p.Steps {
		r.were = append(r.were, p.Steps[i].Status)
	}
	return r
}

// runOutcome is the result of a look at a pipeline: either a change, or the pipeline stays as it is.
type runOutcome struct {
	with  *daemon.Change // committed with the pipeline's row; nil: the pipeline stays
	note  string         // if the pipeline stays: what it waits for
	alert bool           // if the pipeline stays: only a person can end the wait
	again time.Duration  // if the pipeline stays: look again after that time, or earlier at a wake
	err   error          // a fault of the machine, not of the pipeline: the look is repeated
}

// workPipeline does the first thing that is due for a pipeline. moved says that a row was written; the lane then looks
// again at once. Otherwise the lane looks again after again; 0: only at a wake.
func (room *Room) workPipeline(ctx context.Context, id int64) (moved bool, again time.Duration, err error) {
	p, err := room.store.Pipeline(ctx, id)
	if err != nil || p.Host != room.env.Host {
		return false, 0, err
	}
	r := room.runOf(ctx, &p)
	if !p.Open() {
		return false, 0, nil
	}
	var out runOutcome
	switch p.Status {
	case daemon.PipelinePending:
		out = r.begin()
	case daemon.PipelineRunning:
		out = r.goOn()
	case daemon.PipelineWaiting:
		out = r.awaitApproval()
	}
	switch {
	case out.err != nil:
		return false, 0, fmt.Errorf("pipeline %d: %s: %w", id, p.Status, out.err)
	case out.with == nil:
		return r.stay(out)
	}
	err = r.commit(out.with)
	if errors.Is(err, daemon.ErrNoRoom) {
		return false, 0, nil // the pipeline stays pending
	}
	return err == nil, 0, err
}

// Notes say what a pipeline waits for.
const (
	noteRoom  = "its turn: as many pipelines as may be (pipeline.max_running) are at work"
	noteLeave = "the agent of the step before is being shut down"
)

// commit writes the pipeline together with a change.
func (r *pipelineRun) commit(c *daemon.Change) error {
	if err := r.checkMoves(); err != nil {
		return err
	}
	r.p.UpdatedAt = r.now
	if c.PipelineMove == nil {
		c.PipelineMove = &daemon.PipelineMove{}
	}
	c.PipelineMove.Pipeline = r.p
	if err := r.room.env.Commit(r.ctx, c); err != nil {
		return fmt.Errorf("pipeline %d: %w", r.p.ID, err)
	}
	if c.NewOutput != nil {
		r.logOutput(c.NewOutput)
	}
	for _, e := range c.Events {
		if e.Type.About("pipeline") || e.Type.About("step") {
			r.room.env.Log.Info("pipeline moved", "pipeline_id", r.p.ID, "step_id", agents.OptionalID(e.StepID), "event", e.Type)
		}
	}
	return nil
}

// checkMoves refuses a move of the pipeline or of a step that the tables do not have.
func (r *pipelineRun) checkMoves() error {
	if r.from != r.p.Status && !daemon.LeadsTo(daemon.WaysFrom(daemon.PipelineStages, r.from), r.p.Status) {
		return fmt.Errorf("pipeline %d: the table knows no move from %s to %s", r.p.ID, r.from, r.p.Status)
	}
	for i, was := range r.were {
		if s := &r.p.Steps[i]; was != s.Status && !daemon.LeadsTo(daemon.WaysFrom(daemon.StepStages, was), s.Status) {
			return fmt.Errorf("pipeline %d: step %d: the table knows no move from %s to %s", r.p.ID, s.ID, was, s.Status)
		}
	}
	return nil
}

// stay leaves the pipeline as it is, except for its note. If the note has changed, stay commits it. Unless the pipeline
// is pending or the note is empty, it also stores an event.
func (r *pipelineRun) stay(out runOutcome) (moved bool, again time.Duration, err error) {
	if out.note == r.p.Note {
		return false, out.again, nil
	}
	r.p.Note = out.note
	c := daemon.Change{}
	if out.note != "" && r.p.Status != daemon.PipelinePending {
		e := r.event(event.PipelineWaiting, r.p.FrontStep(), map[string]any{"message": fmt.Sprintf("Pipeline %d (%s): %s.", r.p.ID, r.p.Title, out.note)})
		e.Alert = out.alert
		c.Events = []*event.Event{e}
	}
	if err := r.commit(&c); err != nil {
		return false, 0, err
	}
	return true, 0, nil
}

// event makes an event about the pipeline and the step s; nil: about no step.
func (r *pipelineRun) event(typ event.Type, s *daemon.Step, payload map[string]any) *event.Event {
	return r.room.env.PipelineEvent(typ, r.p, s, payload)
}

// begin makes a pending pipeline running. Commit decides whether there is room for it.
func (r *pipelineRun) begin() runOutcome {
	r.start()
	return runOutcome{with: &daemon.Change{Admit: r.set.MaxRunning, Events: []*event.Event{r.event(event.PipelineRunning, nil, nil)}}}
}

// start makes the pipeline running in memory. StartedAt keeps the first start.
func (r *pipelineRun) start() {
	r.p.Status, r.p.Note = daemon.PipelineRunning, ""
	if r.p.StartedAt == nil {
		r.p.StartedAt = &r.now
	}
}

// goOn does what a running pipeline does next.
func (r *pipelineRun) goOn() runOutcome {
	if r.p.WorkDir == "" {
		return r.enterTree()
	}
	if s := r.p.AwaitsWay(); s != nil {
		return askWay(r, s)
	}
	s := r.p.FrontStep()
	switch {
	case s == nil:
		return r.finish()
	case s.Status == daemon.StepRunning:
		return r.watchStep(s)
	}
	return r.reach(s)
}

// tree returns the work tree of the pipeline; nil: none was planned.
func (r *pipelineRun) tree() (*daemon.Worktree, error) {
	list, err := r.room.store.Worktrees(r.ctx, daemon.WorktreeFilter{PipelineID: r.p.ID, Limit: 1})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// enterTree waits until the work tree of a pipeline with a branch is there. It plans the tree first, and again if somebody has deleted it.
func (r *pipelineRun) enterTree() runOutcome {
	t, err := r.tree()
	if err != nil {
		return runOutcome{err: err}
	}
	if t == nil {
		return r.planTree()
	}
	switch wait, why := agents.Ready(t); {
	case wait:
		return runOutcome{again: time.Second, note: r.p.Note}
	case why != nil:
		return r.treeFailed(words.Capital(words.TrimDot(why.Error())))
	case missing(t.Path):
		t.Be(daemon.TreePlanned)
		return runOutcome{with: &daemon.Change{Worktrees: []*daemon.Worktree{t}}}
	}
	r.p.Worktree, r.p.WorkDir, r.p.Note = &t.Path, t.Workdir, ""
	if missing(t.Workdir) {
		r.p.WorkDir = t.Path
	}
	return runOutcome{with: &daemon.Change{}}
}

func (r *pipelineRun) planTree() runOutcome {
	t, err := r.room.env.PlanTree(r.ctx, worktree.Spec{Dir: r.p.Cwd, Branch: *r.p.Branch})
	switch {
	case err != nil && (r.ctx.Err() != nil || daemon.Unavailable(err)):
		return runOutcome{err: err}
	case err != nil:
		return r.treeFailed(agents.NotMade(*r.p.Branch, err))
	}
	t.PipelineID = &r.p.ID
	return runOutcome{with: &daemon.Change{NewWorktree: t}}
}

func (r *pipelineRun) treeFailed(says string) runOutcome {
	return runOutcome{with: r.fail(nil, nil, failure{
		code: daemon.CodeWorktreeFailed, hint: fmt.Sprintf("put that right and `understudy pipeline resume %d`, or start a pipeline with another branch", r.p.ID), says: says,
	})}
}

// missing reports whether there is nothing at a path.
func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// finish ends a pipeline that has no step left. It removes the work tree if nothing in it would be lost; the branch stays.
func (r *pipelineRun) finish() runOutcome {
	c := &daemon.Change{}
	if r.p.Worktree != nil {
		if out := r.previousGone(len(r.p.Steps)); out != nil {
			return *out
		}
		if out := r.endTree(); out != nil {
			return *out
		}
	}
	r.p.Warnings = slices.DeleteFunc(r.p.Warnings, func(w string) bool { return strings.HasPrefix(w, nobodyPlays) })
	r.p.Status, r.p.Note, r.p.FinishedAt = daemon.PipelineDone, "", &r.now
	e := r.event(event.PipelineDone, nil, map[string]any{"warnings": r.p.Warnings,
		"message": fmt.Sprintf("Pipeline %d (%s) is done: `understudy pipeline show %[1]d` tells what came of it.", r.p.ID, r.p.Title)})
	e.Notice = event.NoticeCompleted
	c.Events = append(c.Events, e)
	return runOutcome{with: c}
}

// endTree asks for the removal of the pipeline's work tree, and waits for what comes of it. If the tree stays, a warning says why. If the
// result is not nil, the look ends with that result.
func (r *pipelineRun) endTree() *runOutcome {
	t, err := r.tree()
	switch {
	case err != nil:
		return &runOutcome{err: err}
	case t == nil || t.State == daemon.TreeRemoved:
		r.p.Worktree = nil
	case t.Task != nil || t.State == daemon.TreePlanned:
		return &runOutcome{again: time.Second, note: r.p.Note}
	case t.Last == nil || !t.Last.ByPipeline:
		t.Ask(daemon.TreeTask{Do: daemon.TreeRemove, KeepBranch: true, ByPipeline: true}, r.now)
		e := r.room.env.TreeEvent(event.WorktreeAsked, t, map[string]any{"do": daemon.TreeRemove, "message": fmt.Sprintf(
			"Pipeline %d has no step left, and its work tree %d is removed unless work would be lost", r.p.ID, t.ID)})
		return &runOutcome{with: &daemon.Change{Worktrees: []*daemon.Worktree{t}, Events: []*event.Event{e}}}
	default:
		r.p.Warnings = append(r.p.Warnings, fmt.Sprintf("%s (%s).", words.TrimDot(t.Last.Says), t.Path))
	}
	return nil
}

// awaitApproval waits for the approval of the next step, and reminds the operator if the template says so.
func (r *pipelineRun) awaitApproval() runOutcome {
	s := r.p.Asked()
	if s == nil || s.RemindAfter == 0 || s.AskedAt == nil {
		return runOutcome{}
	}
	if left := s.RemindAfter - r.room.env.TimeSpent(*s.AskedAt); left > 0 {
		return runOutcome{again: left}
	}
	s.AskedAt = &r.now
	e := r.event(event.PipelineApprovalReminder, s, map[string]any{"message": r.askFor(s, "still waits")})
	e.Notice = event.NoticeWaiting
	return runOutcome{with: &daemon.Change{PipelineMove: &daemon.PipelineMove{Steps: []*daemon.Step{s}}, Events: []*event.Event{e}}}
}

// askFor returns the sentence that asks a person for the approval of a step, or which step comes after it.
func (r *pipelineRun) askFor(s *daemon.Step, waits string) string {
	if s == r.p.AwaitsWay() {
		return fmt.Sprintf("Pipeline %d (%s) %s for you to say which step comes next: %s.", r.p.ID, r.p.Title, waits, views.ChoiceWords(r.p, s))
	}
	return fmt.Sprintf("Pipeline %d (%s) %s for your approval of step %d (%s): %s%s.", r.p.ID, r.p.Title, waits, s.OrderIndex+1, s.AgentName, roundNext(r.p, s), views.ApprovalNext(r.p))
}

// failure is why a step or a pipeline fails.
type failure struct {
	code daemon.Code
	says string // one sentence without a full stop, which the rows keep as their error
	hint string // what to do next, without a full stop; "": put it right and resume the pipeline
}

// fail fails the pipeline and the step s (nil: none was begun), and has the step's agent a (nil: it has none) shut down. The
// steps after s stay as they are.
func (r *pipelineRun) fail(s *daemon.Step, a *daemon.Agent, f failure) *daemon.Change {
	if f.hint == "" {
		f.hint = fmt.Sprintf("put that right, then `understudy pipeline resume %d`", r.p.ID)
	}
	r.p.Status, r.p.Note, r.p.Error, r.p.ErrorCode, r.p.Hint, r.p.FinishedAt = daemon.PipelineFailed, "", &f.says, f.code, f.hint, &r.now
	c := &daemon.Change{PipelineMove: &daemon.PipelineMove{}}
	if s != nil {
		s.Status, s.Error, s.FinishedAt = daemon.StepFailed, &f.says, &r.now
		c.PipelineMove.Steps = []*daemon.Step{s}
		about := map[string]any{"code": f.code, "error": f.says}
		if s.StartedAt != nil {
			about["duration_ms"] = daemon.Elapsed(*s.StartedAt, r.now).Milliseconds()
		}
		c.Events = append(c.Events, r.event(event.StepFailed, s, about))
	}
	e := r.event(event.PipelineFailed, s, map[string]any{"code": f.code, "error": f.says,
		"message": fmt.Sprintf("Pipeline %d (%s) failed: %s; %s.", r.p.ID, r.p.Title, f.says, f.hint)})
	e.Alert = true
	if a != nil {
		e.Cause = r.room.env.EndCauseOf(a)
		r.dismiss(a, c, true)
	}
	c.Events = append(c.Events, e)
	return c
}

// dismiss asks an agent to stop; with interrupt even in the middle of its turn. It always writes the agent's row, even if
// the agent has ended. So if a prompt or a successor of the agent is committed first, Commit returns ErrMoved, and the
// daemon looks at the pipeline again.
func (r *pipelineRun) dismiss(a *daemon.Agent, c *daemon.Change, interrupt bool) {
	c.WriteAgent(a)
	a.StopAnyway() // its step is over, so stop it even if it was given work
	if a.StopAskedAt != nil || !a.Active() {
		return
	}
	a.AskToStop(r.now, false)
	a.StopInterrupt = interrupt
	c.Drop(a.ID, daemon.EvidenceStepEnded, false)
	c.Events = append(c.Events, engine.EventAbout(r.room.env.Engine, event.AgentStopRequested, a, map[string]any{"force": false, "by": "pipeline"}))
}
