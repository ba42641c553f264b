package pipelines

import (
	"fmt"
	"strconv"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/intake"
	"github.com/understudyd/understudy/hooks"
)

// outputLate is how long after a Stop the daemon waits until the turn's last message is in the transcript. Claude Code
// 2.1.329 writes it up to 0.4 s after the Stop.
const outputLate = time.Second

// takeOutput records the output of a step. This ends the step, and the step's agent is shut down.
func (r *pipelineRun) takeOutput(s *daemon.Step, a *daemon.Agent) runOutcome {
	text, wait, err := r.output(a)
	if err != nil || wait > 0 {
		return runOutcome{err: err, again: wait, note: r.p.Note}
	}
	policy := r.room.env.Settings().Handoff.Secrets
	if found := policy.Refused(text); found != "" {
		return r.failStep(s, a, nil, failure{code: daemon.CodeOutputSecret, says: fmt.Sprintf("The output of step %d (%s) seems to have secrets and is not passed on: %s", s.OrderIndex+1, s.AgentName, found),
			hint: fmt.Sprintf("have the step done again without them by `understudy pipeline resume %d`, or set handoff.secrets to warn first", r.p.ID)})
	}
	id, err := r.room.store.NextID(r.ctx, daemon.OutputIDs)
	if err != nil {
		return runOutcome{err: err}
	}
	heir := ""
	rule, _ := decide(s, text) // if a person must decide, the following step is the likeliest
	if next := after(r.p, s, edgeOf(rule)); next != nil {
		heir = next.Who()
	}
	out, rec, fallback, err := handoffs.AssembleStep(r.ctx, r.room.env, s, a, id, text, heir)
	if err != nil {
		return runOutcome{err: err}
	}
	r.now = out.CreatedAt // the time of the assembly counts for this step
	c := &daemon.Change{PipelineMove: &daemon.PipelineMove{Steps: []*daemon.Step{s}}, NewOutput: out, NewStepRecord: rec}
	r.p.Note = ""
	s.Status, s.FinishedAt, s.LatestHandoff = daemon.StepDone, &r.now, out
	c.Events = r.outputEvents(s, out, fallback)
	if found := policy.Seen(text); found != "" {
		c.Events = append(c.Events, r.event(event.PipelineWarning, s, map[string]any{"message": fmt.Sprintf(
			"Pipeline %d: The output of step %d (%s) seems to have secrets: %s.", r.p.ID, s.OrderIndex+1, s.AgentName, found)}))
	}
	if err := r.leadOn(s, text, c); err != nil {
		return runOutcome{err: err}
	}
	var refused error
	if next := r.p.FrontStep(); next != nil && next.Persona != nil {
		follower, err := r.agentFor(next)
		if err != nil {
			return runOutcome{err: err}
		}
		refused = r.startable(follower)
	}
	switch {
	case refused == nil:
		r.dismiss(a, c, false)
	case daemon.RefusalIn(refused) == nil:
		return runOutcome{err: refused} // it is not known whether its follower can be started
	default:
		c.WriteAgent(a) // it lives until its follower can be started: see reach
	}
	r.followWork(s, a, c)
	took := daemon.Elapsed(*s.StartedAt, r.now).Milliseconds()
	c.Events = append(c.Events, r.event(event.StepDone, s, map[string]any{"duration_ms": took}))
	return runOutcome{with: c}
}

// followWork has the next steps work where the agent of a step has worked: its session may have moved.
func (r *pipelineRun) followWork(s *daemon.Step, a *daemon.Agent, c *daemon.Change) {
	if a.Cwd == r.p.WorkDir || r.p.FrontStep() == nil || agents.Enterable(a.Cwd) != nil {
		return
	}
	r.p.WorkDir = a.Cwd
	warning := fmt.Sprintf("The agent of step %d (%s) moved to %s, and the next steps work there.", s.OrderIndex+1, s.AgentName, a.Cwd)
	r.p.Warnings = append(r.p.Warnings, warning)
	c.Events = append(c.Events, r.event(event.PipelineWarning, s, map[string]any{"message": fmt.Sprintf("Pipeline %d: %s", r.p.ID, warning)}))
}

// takeOutputLate takes the output of a step whose time is over while only background tasks of its agent still run.
func (r *pipelineRun) takeOutputLate(s *daemon.Step, a *daemon.Agent) runOutcome {
	tasks := "a background task"
	if a.BackgroundTasks > 1 {
		tasks = fmt.Sprintf("%d background tasks", a.BackgroundTasks)
	}
	warning := fmt.Sprintf("Step %d (%s) ended with %s of its agent still at work.", s.OrderIndex+1, s.AgentName, tasks)
	out := r.takeOutput(s, a)
	if out.with != nil {
		r.p.Warnings = append(r.p.Warnings, warning)
		e := r.event(event.PipelineWarning, s, map[string]any{"message": fmt.Sprintf("Pipeline %d: %s See `understudy pipeline show %[1]d`.", r.p.ID, warning)})
		e.Alert = true
		out.with.Events = append(out.with.Events, e)
	}
	return out
}

// output returns the final message of the turn that ended a step: from the Stop or, if the Stop has none, from the
// transcript. wait, if not 0: the message may still come; look again after that time.
func (r *pipelineRun) output(a *daemon.Agent) (text string, wait time.Duration, err error) {
	hook, err := r.room.store.StoredHook(r.ctx, a.WorkStop)
	if err != nil {
		return "", 0, err
	}
	if p, err := hooks.Parse(hook.Event, hook.Body); err == nil && p.LastAssistantMessage != "" {
		return p.LastAssistantMessage, 0, nil
	}
	if late := outputLate - r.room.env.TimeSpent(hook.ReceivedAt); late > 0 && a.Active() {
		return "", late, nil
	}
	if a.TranscriptPath != nil {
		return intake.LastAnswer(r.ctx, r.room.env.RuntimeOf(a), *a.TranscriptPath), 0, nil
	}
	return "", 0, nil
}

// seconds writes a duration in seconds, with as many digits as it needs.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
