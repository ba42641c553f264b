package pipelines

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/words"
)

// reach asks for the approval of a step that needs one. An approved step begins as soon as the agents of the steps before
// it have ended.
func (r *pipelineRun) reach(s *daemon.Step) runOutcome {
	if s.Approval && s.ApprovedAt == nil {
		s.AskedAt = &r.now
		r.p.Status, r.p.Note = daemon.PipelineWaiting, ""
		e := r.event(event.PipelineWaitingForApproval, s, map[string]any{"message": r.askFor(s, "waits")})
		e.Notice = event.NoticeWaiting
		return runOutcome{with: &daemon.Change{PipelineMove: &daemon.PipelineMove{Steps: []*daemon.Step{s}}, Events: []*event.Event{e}}}
	}
	prev, err := r.lastAttempt(s)
	switch {
	case err != nil:
		return runOutcome{err: err}
	case prev != nil && prev.Active() && prev.StopAskedAt == nil:
		return r.takeUp(s, prev)
	}
	if r.p.Branch != nil && missing(r.p.WorkDir) { // a person has removed it
		r.p.WorkDir = ""
		return runOutcome{with: &daemon.Change{}}
	}
	if why := r.cast(s); why != nil {
		return runOutcome{with: r.fail(s, nil, *why)}
	}
	a, err := r.agentFor(s)
	if err != nil {
		return runOutcome{err: err}
	}
	err = r.startable(a)
	switch {
	case err != nil && daemon.RefusalIn(err) == nil:
		return runOutcome{err: err}
	case err != nil: // before an agent is ended
		return runOutcome{with: r.fail(s, nil, failure{code: daemon.CodeAgentNotStartable, says: words.TrimDot(err.Error())})}
	}
	if out := r.previousGone(s.OrderIndex + 1); out != nil {
		return *out
	}
	if prev != nil { // no agent works on the step now, so the retry of the handoff may start one
		if out := r.handover(s, prev); out != nil {
			return *out
		}
	}
	return r.startAgent(s, a, prev)
}

// lastAttempt returns the newest agent of the earlier attempts at a step; nil: there was none.
func (r *pipelineRun) lastAttempt(s *daemon.Step) (*daemon.Agent, error) {
	id := s.NewestAgent()
	if id == 0 {
		return nil, nil
	}
	a, err := r.room.store.Agent(r.ctx, id)
	return &a, err
}

// underWay sets the fields of a step that begins, or begins again.
func (r *pipelineRun) underWay(s *daemon.Step) {
	r.p.Note = ""
	s.Status, s.Error, s.StartedAt, s.FinishedAt = daemon.StepRunning, nil, &r.now, nil
}

// takeUp lets a step continue with an active agent of an earlier attempt.
func (r *pipelineRun) takeUp(s *daemon.Step, a *daemon.Agent) runOutcome {
	r.underWay(s)
	c := &daemon.Change{PipelineMove: &daemon.PipelineMove{Steps: []*daemon.Step{s}}, Agents: []*daemon.Agent{a}, Events: []*event.Event{
		r.event(event.StepRunning, s, map[string]any{"agent_id": a.ID, "taken_up": true}),
	}}
	return runOutcome{with: c, err: r.warnShared(c)}
}

// previousGone looks for the first agent of the first n steps that still runs; nil: there is none to wait for. If nobody has
// asked that agent to stop, the outcome asks it; else the outcome waits a second. An agent that could not be stopped is not
// waited for, because the operator was told about it.
func (r *pipelineRun) previousGone(n int) *runOutcome {
	for i := range r.p.Steps[:n] {
		for _, id := range r.p.Steps[i].AgentIDs {
			a, err := r.room.store.Agent(r.ctx, id)
			switch {
			case err != nil:
				return &runOutcome{err: err}
			case !a.Active() || a.StopStage == daemon.StopFailed:
				continue
			case a.StopAskedAt == nil:
				c := &daemon.Change{}
				r.dismiss(&a, c, true)
				return &runOutcome{with: c}
			}
			note := r.p.Note
			if r.room.env.TimeSpent(*a.StopAskedAt) > engine.NoteAfter {
				note = noteLeave
			}
			return &runOutcome{again: time.Second, note: note}
		}
	}
	return nil
}

// cast copies a persona into the step, if no persona could play the step when the pipeline was created.
func (r *pipelineRun) cast(s *daemon.Step) *failure {
	if s.Persona != nil {
		return nil
	}
	p, err := r.room.castOf(s.AgentName)
	if err == nil {
		play(s, p)
		return nil
	}
	f := &failure{code: daemon.CodeUnknownPersona, says: words.TrimDot(err.Error())}
	if unknownPersona(err) {
		f.hint = fmt.Sprintf("make the persona with `understudy persona add`, then `understudy pipeline resume %d`", r.p.ID)
	}
	return f
}

// agentFor returns the row of a new agent for a step, without its id.
func (r *pipelineRun) agentFor(s *daemon.Step) (*daemon.Agent, error) {
	a := &daemon.Agent{
		Name: s.AgentName + "-" + strconv.FormatInt(s.ID, 10), Persona: s.Persona, Runtime: cmp.Or(s.Runtime, claude.Runtime.Name),
		Host: r.room.env.Host, State: daemon.Starting, StateAt: r.now, AgentSession: daemon.AgentSession{Cwd: r.p.WorkDir}, Generation: 1, CreatedAt: r.now, Managed: true,
		PipelineID: &r.p.ID, StepID: &s.ID,
	}
	if r.p.Branch == nil {
		return a, nil
	}
	t, err := r.tree()
	if err == nil && t != nil {
		a.WorktreeID = &t.ID
	}
	return a, err
}

// startable is [CanStart] for the agent of a step. The work tree of a pipeline is made again if a person has removed it.
func (r *pipelineRun) startable(a *daemon.Agent) error {
	if r.p.Branch != nil && missing(r.p.WorkDir) {
		return r.room.env.CheckRuntime(a.Runtime)
	}
	return agents.CanStart(r.ctx, r.room.env.Launcher, a)
}

// startAgent commits a new agent's row with the step; the agent's lane makes its pane. prev is the newest agent of an earlier
// attempt, whose row is written as well: see stepOver.
func (r *pipelineRun) startAgent(s *daemon.Step, a, prev *daemon.Agent) runOutcome {
	r.now = r.room.env.Now() // read the clock anew: the new agent must not begin before the earlier agents end
	a.StateAt, a.CreatedAt = r.now, r.now
	var err error
	if a.ID, err = r.room.store.NextID(r.ctx, daemon.AgentIDs); err != nil {
		return runOutcome{err: err}
	}
	a.TmuxSession = agents.TmuxSession(a.Name, a.ID)
	r.underWay(s)
	s.Input = stepPrompt(r.p, s)
	s.AgentIDs = append(s.AgentIDs, a.ID)
	c := &daemon.Change{NewAgent: a, PipelineMove: &daemon.PipelineMove{Steps: []*daemon.Step{s}}, Events: []*event.Event{
		engine.EventAbout(r.room.env.Engine, event.AgentCreated, a, map[string]any{"persona": a.Persona, "generation": 1, "name": a.Name}),
		r.event(event.StepRunning, s, map[string]any{"agent_id": a.ID}),
	}}
	if err := agents.PromptStep(r.ctx, r.room.env.Launcher, a, s, c); err != nil {
		return runOutcome{err: err}
	}
	if prev != nil {
		c.WriteAgent(prev)
	}
	return runOutcome{with: c, err: r.warnShared(c)}
}

// failStep fails a step and with it the pipeline, and cancels the open handoff of the step's agent.
func (r *pipelineRun) failStep(s *daemon.Step, a *daemon.Agent, h *daemon.Handoff, f failure) runOutcome {
	c := r.fail(s, a, f)
	if err := r.cancelOpen(h, c); err != nil {
		return runOutcome{err: err}
	}
	return runOutcome{with: c}
}

// cancelOpen adds the cancelling of a handoff to a change. A recorded handoff can't be cancelled. It goes on until its
// agent has ended, and then ends because the step needs no successor: see stepOver.
func (r *pipelineRun) cancelOpen(h *daemon.Handoff, c *daemon.Change) error {
	if h == nil || !h.Cancellable() {
		return nil
	}
	with, err := r.room.env.CancelChange(r.ctx, h, r.now)
	if err != nil {
		return err
	}
	c.Move, c.Deliveries = with.Move, with.Deliveries
	c.Events = append(c.Events, with.Events...)
	return nil
}
