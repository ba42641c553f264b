package daemon

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
)

// reach begins a step, once it is approved and the agents before it are gone.
func (r *pipelineRun) reach(s *Step) runOutcome {
	if s.Approval && s.ApprovedAt == nil {
		s.AskedAt = &r.now
		r.p.Status, r.p.Note = PipelineWaiting, ""
		e := r.event("pipeline_waiting_for_approval", s, map[string]any{"message": r.askFor(s, "waits")})
		e.Alert = true
		return runOutcome{with: &Change{Run: &RunMove{Steps: []*Step{s}}, Events: []*Event{e}}}
	}
	if a, out := r.working(s); out != nil {
		return *out
	} else if a != nil {
		return r.takeUp(s, a)
	}
	if out := r.previousGone(s.OrderIndex + 1); out != nil {
		return *out
	}
	if why := r.cast(s); why != nil {
		return runOutcome{with: r.fail(s, nil, *why)}
	}
	return r.startAgent(s)
}

// working returns an agent that is still at the step, of an earlier attempt or as the successor of
// one; nil: there is none.
func (r *pipelineRun) working(s *Step) (*Agent, *runOutcome) {
	id := s.newestAgent()
	if id == 0 {
		return nil, nil
	}
	a, err := r.d.Store.Agent(r.ctx, id)
	if err != nil {
		return nil, &runOutcome{err: err}
	}
	if a.Active() && a.StopAskedAt == nil {
		return &a, nil
	}
	return nil, nil
}

// takeUp has a step go on with the agent that works on it already.
func (r *pipelineRun) takeUp(s *Step, a *Agent) runOutcome {
	r.p.Note = ""
	s.Status, s.Error, s.StartedAt, s.FinishedAt = StepRunning, nil, &r.now, nil
	return runOutcome{with: &Change{Run: &RunMove{Steps: []*Step{s}}, Agents: []*Agent{a}, Events: []*Event{
		r.event("step_running", s, map[string]any{"agent_id": a.ID, "taken_up": true}),
	}}}
}

// previousGone waits for the end of the agents of the first n steps. One that could not be ended holds
// nothing up: the operator was told.
func (r *pipelineRun) previousGone(n int) *runOutcome {
	for i := range r.p.Steps[:n] {
		id := r.p.Steps[i].newestAgent()
		if id == 0 {
			continue
		}
		a, err := r.d.Store.Agent(r.ctx, id)
		if err != nil {
			return &runOutcome{err: err}
		}
		if a.Active() && a.StopStage != StopFailed {
			note := r.p.Note
			if a.StopAskedAt != nil && r.now.Sub(*a.StopAskedAt) > noteAfter {
				note = noteLeave
			}
			return &runOutcome{again: time.Second, note: note}
		}
	}
	return nil
}

// cast finds who plays a step, if nobody could when the run was created.
func (r *pipelineRun) cast(s *Step) *failure {
	if s.Persona != nil {
		return nil
	}
	p, err := r.d.castOf(s.AgentName)
	if err != nil {
		return &failure{code: "unknown_persona", says: trimDot(err.Error()),
			hint: fmt.Sprintf("make the persona with `understudy persona add`, then `understudy pipeline resume %d`", r.p.ID)}
	}
	s.play(p)
	return nil
}

// startAgent commits the agent's row with the step; the agent's lane makes its pane.
func (r *pipelineRun) startAgent(s *Step) runOutcome {
	a := &Agent{
		Name: s.AgentName + "-" + strconv.FormatInt(s.ID, 10), Persona: s.Persona, Runtime: firstNonEmpty(s.Runtime, runtimes.Claude().Name()),
		Host: r.d.Host, State: Starting, Cwd: r.p.WorkDir, Generation: 1, CreatedAt: r.now, Managed: true,
		PipelineID: &r.p.ID, StepID: &s.ID,
	}
	if err := errors.Join(r.d.checkRuntime(a.Runtime), checkDirectory(a.Cwd)); err != nil {
		return runOutcome{with: r.fail(s, nil, failure{code: "agent_not_startable", says: trimDot(err.Error())})}
	}
	var err error
	if a.ID, err = r.d.Store.NextID(r.ctx, AgentIDs); err != nil {
		return runOutcome{err: err}
	}
	a.TmuxSession = tmuxSession(a.Name, a.ID)
	r.p.Note = ""
	s.Status, s.Error, s.StartedAt, s.FinishedAt = StepRunning, nil, &r.now, nil
	s.Input = stepPrompt(r.p, s)
	s.AgentIDs = append(s.AgentIDs, a.ID)
	return runOutcome{with: &Change{NewAgent: a, Run: &RunMove{Steps: []*Step{s}}, Events: []*Event{
		r.d.event("agent_created", &a.ID, nil, map[string]any{"persona": a.Persona, "generation": 1, "name": a.Name}),
		r.event("step_running", s, map[string]any{"agent_id": a.ID}),
	}}}
}

// What a step waits for when that it is running does not tell.
const noteInterrupted = "its agent is idle without having ended its turn, as after Esc: prompt it in its pane, or abort the run"

// watchStep looks at the agent of a running step: whether its turn is over, or can't be any more.
func (r *pipelineRun) watchStep(s *Step) runOutcome {
	a, err := r.d.Store.Agent(r.ctx, s.newestAgent())
	if err != nil {
		return runOutcome{err: err}
	}
	h, err := r.handoffOf(&a)
	if err != nil {
		return runOutcome{err: err}
	}
	handing := h != nil && h.Open()
	limit := s.timeout(r.set)
	left := r.d.left(*s.StartedAt, limit)
	switch {
	case !handing && a.turnOver():
		if wait, err := r.queuedBehind(s, &a); err != nil || wait > 0 {
			return runOutcome{err: err, again: wait, note: r.p.Note}
		}
		return r.take(s, &a)
	case left <= 0:
		return r.failStep(s, &a, h, failure{code: "step_timeout", says: "Step timed out after " + seconds(limit) + "s"})
	case handing:
		return runOutcome{again: left, note: fmt.Sprintf("agent %d is being handed over (handoff %d)", h.AgentID, h.ID)}
	case a.Trouble != "":
		return r.failStep(s, &a, h, failure{code: "runtime_error", says: "The agent's runtime reported an error instead of finishing: " + trimDot(a.Trouble)})
	case !a.Active():
		return r.failStep(s, &a, h, r.gone(&a, h))
	}
	note, alert := r.stepNote(&a)
	return runOutcome{again: left, note: note, alert: alert}
}

// handoffOf returns the newest handoff of an agent or, if it has none, the one by which it came.
func (r *pipelineRun) handoffOf(a *Agent) (*Handoff, error) {
	for _, f := range []HandoffFilter{{AgentID: a.ID, Limit: 1}, {SuccessorID: a.ID, Limit: 1}} {
		if f.SuccessorID != 0 && a.PreviousAgentID == nil {
			break
		}
		list, err := r.d.Store.Handoffs(r.ctx, f)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			return &list[0], nil
		}
	}
	return nil, nil
}

// stepNote says what a running step waits for, when that needs a person.
func (r *pipelineRun) stepNote(a *Agent) (note string, alert bool) {
	switch {
	case a.State == Waiting:
		return fmt.Sprintf("a dialog waits in the pane of agent %d: answer it with `understudy agent attach %[1]d`", a.ID), true
	case a.State == Idle && a.LastPrompt > a.WorkStop && r.d.quietFor(a.ID, settle):
		return noteInterrupted, true
	case a.State == Idle && a.BackgroundTasks > 0:
		return "its agent has background tasks", false
	}
	return a.Note, false
}

// gone words the failure of a step whose agent has ended.
func (r *pipelineRun) gone(a *Agent, h *Handoff) failure {
	reason := "unknown"
	if a.EndReason != nil {
		reason = withoutScreen(*a.EndReason)
	}
	f := failure{code: "agent_gone", says: fmt.Sprintf("Agent %d ended before its turn was over (%s)", a.ID, trimDot(reason))}
	if h != nil && h.Phase == Failed && h.RecordedAt != nil {
		f.says += fmt.Sprintf("; its handoff %d failed in phase %s", h.ID, h.Error.Phase)
		f.hint = fmt.Sprintf("`understudy handoff retry %d`, then `understudy pipeline resume %d`", h.ID, r.p.ID)
	}
	return f
}

// failStep fails the step and with it the run, and ends what is open with its agent.
func (r *pipelineRun) failStep(s *Step, a *Agent, h *Handoff, f failure) runOutcome {
	c := r.fail(s, a, f)
	if err := r.cancelOpen(h, c); err != nil {
		return runOutcome{err: err}
	}
	return runOutcome{with: c}
}

// cancelOpen cancels the open handoff of a step's agent with the step. One that is recorded goes on to
// the end of its agent; no successor is started then.
func (r *pipelineRun) cancelOpen(h *Handoff, c *Change) error {
	if h == nil || !h.Open() || h.RecordedAt != nil {
		return nil
	}
	with, err := r.d.cancelling(r.ctx, h, r.now)
	if err != nil {
		return err
	}
	c.Move, c.Deliveries = with.Move, with.Deliveries
	c.Events = append(c.Events, with.Events...)
	return nil
}

// outputLate is how long after a Stop the runtime may take to write the turn's last message down: up to
// 0.4 s with Claude Code 2.1.329.
const outputLate = time.Second

// take records what the agent of a step has left, which ends the step, and has the agent shut down.
func (r *pipelineRun) take(s *Step, a *Agent) runOutcome {
	text, wait, err := r.output(a)
	if err != nil || wait > 0 {
		return runOutcome{err: err, again: wait, note: r.p.Note}
	}
	id, err := r.d.Store.NextID(r.ctx, OutputIDs)
	if err != nil {
		return runOutcome{err: err}
	}
	out := &StepHandoff{ID: id, ContentMD: text, CreatedAt: r.now, StepID: s.ID, AgentID: a.ID}
	c := &Change{Run: &RunMove{Steps: []*Step{s}}, NewOutput: out}
	if fields, ok := data.ByHeading.Extract(text); ok {
		out.Metadata = &fields
	}
	r.p.Note = ""
	s.Status, s.FinishedAt, s.LatestHandoff = StepDone, &r.now, out
	about := map[string]any{"step_handoff_id": id, "bytes": len(text), "has_structured_data": out.Metadata != nil}
	c.Events = append(c.Events, r.event("step_handoff_created", s, about))
	switch {
	case text == "":
		r.p.Warnings = append(r.p.Warnings, fmt.Sprintf("Step %d (%s) left nothing: its agent ended its turn without a message.", s.OrderIndex+1, s.AgentName))
		e := r.event("step_output_empty", s, map[string]any{"message": fmt.Sprintf(
			"Step %d (%s) of pipeline %d left nothing for the next one: see what it did with `understudy agent show %d`.", s.OrderIndex+1, s.AgentName, r.p.ID, a.ID)})
		e.Alert = true
		c.Events = append(c.Events, e)
	case out.Metadata == nil:
		c.Events = append(c.Events, r.event("step_extraction_failed", s, map[string]any{"step_handoff_id": id}))
	}
	if a.Active() {
		r.dismiss(a, c, false)
	}
	took := r.now.Sub(*s.StartedAt).Milliseconds()
	c.Events = append(c.Events, r.event("step_done", s, map[string]any{"duration_ms": took}))
	return runOutcome{with: c}
}

// output is the final message of the turn that ended the step: as the hook has it, else as the
// transcript has it. wait: it may still come.
func (r *pipelineRun) output(a *Agent) (text string, wait time.Duration, err error) {
	hook, err := r.d.Store.StoredHook(r.ctx, a.WorkStop)
	if err != nil {
		return "", 0, err
	}
	if p, err := hooks.Parse(hook.Event, hook.Body); err == nil && p.LastAssistantMessage != "" {
		return p.LastAssistantMessage, 0, nil
	}
	if late := outputLate - time.Since(hook.ReceivedAt); late > 0 && a.Active() {
		return "", late, nil
	}
	if a.TranscriptPath != nil {
		got, err := readTranscript(r.ctx, *a.TranscriptPath, transcriptWant{Messages: 1})
		if n := len(got.Messages); err == nil && n > 0 && got.Messages[n-1].Role == "assistant" {
			return got.Messages[n-1].Text, 0, nil
		}
	}
	return "", 0, nil
}

// queuedBehind is how long to wait for whether the agent goes on with a prompt that a person has queued
// behind the turn that ended: no hook tells, but the runtime's registry is busy again. Nothing is queued
// behind a turn that began with the last prompt, the step's own.
func (r *pipelineRun) queuedBehind(s *Step, a *Agent) (time.Duration, error) {
	if a.LastPrompt == 0 || !a.Active() {
		return 0, nil
	}
	hook, err := r.d.Store.StoredHook(r.ctx, a.LastPrompt)
	if err != nil {
		return 0, err
	}
	if p, err := hooks.Parse(hook.Event, hook.Body); err != nil || runtimes.MatchesPrompt(p.Prompt, s.Input) {
		return 0, nil
	}
	now := time.Now()
	seen := r.d.look(a, now)
	busy := seen.status == runtimes.StatusBusy || seen.status == runtimes.StatusWaiting
	if seen.known && (busy || now.Sub(seen.since) < forkSettle) {
		return forkSettle / 3, nil
	}
	return 0, nil
}

// turnOver reports whether the agent has ended a turn of its own work and been given nothing since.
func (a *Agent) turnOver() bool {
	return a.WorkStop > 0 && a.WorkStop > a.LastPrompt && a.BackgroundTasks == 0 && (a.State == Idle || !a.Active())
}

// seconds is a time in seconds, with as many digits as it needs.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
