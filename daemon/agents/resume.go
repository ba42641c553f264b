package agents

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/personas"
)

// ResumeAgent opens an ended agent's session again, as a new agent of its line.
func (d *Supervisor) ResumeAgent(ctx context.Context, id int64) (daemon.Agent, error) {
	old, err := d.Agent(ctx, id)
	if err != nil {
		return old, err
	}
	return d.openAgain(ctx, &old, nil)
}

// ResumeAgents opens the sessions of several ended agents again. Without ids they are those of all agents that died lately and
// whose work nobody continues. It tells for each what became of it. An agent is resumed only once, so ResumeAgents may be
// called again, at once or after an error.
func (d *Supervisor) ResumeAgents(ctx context.Context, ids []int64) ([]views.Resumption, error) {
	out := []views.Resumption{}
	if len(ids) == 0 {
		o, err := ReadOverview(ctx, d, daemon.MostAgents)
		if err != nil {
			return nil, err
		}
		dead, said := o.ToResume()
		for _, a := range dead {
			ids = append(ids, a.ID)
		}
		out = append(out, said...)
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		r, err := d.tryResume(ctx, id)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// tryResume resumes one agent. A refusal is part of its answer.
func (d *Supervisor) tryResume(ctx context.Context, id int64) (views.Resumption, error) {
	r := views.Resumption{AgentID: id}
	old, err := d.Agent(ctx, id)
	if err == nil {
		r.Name = old.Name
		var next daemon.Agent
		if next, err = d.openAgain(ctx, &old, nil); err == nil {
			r.Started = &next
			return r, nil
		}
	}
	told := daemon.RefusalIn(err)
	if told == nil {
		return r, err
	}
	r.Error = &views.Refusal{Code: told.Code, Message: told.Message}
	return r, nil
}

// openAgain opens an ended agent's session again, as a new agent of its line, and commits the event that told returns with it;
// nil: no further event.
func (d *Supervisor) openAgain(ctx context.Context, old *daemon.Agent, told func(next *daemon.Agent) *event.Event) (daemon.Agent, error) {
	switch {
	case old.Active():
		return *old, daemon.Errorf(daemon.KindConflict, daemon.CodeAgentActive, "Agent is still active: attach to it with `understudy agent attach %d`", old.ID)
	case old.SessionID == nil || old.RegisteredAt == nil:
		return *old, daemon.Errorf(daemon.KindConflict, daemon.CodeNoSession, "Agent never had a session that could be opened again: start anew with `%s`", views.StartCommand(old))
	case old.Host != d.Host:
		return *old, d.RequireThisHost(old.Host)
	}
	if err := d.Resumable(ctx, old); err != nil {
		return *old, err
	}
	a, err := d.NewSuccessor(ctx, old, d.Now())
	if err != nil {
		return *old, err
	}
	opensAgain(d, a, old)
	a.GoesOnFrom(old)
	// Write the old agent's row as well: if two requests resume the agent at the same time, the second one gets ErrMoved.
	c := &daemon.Change{NewAgent: a, Agents: []*daemon.Agent{old}, Events: []*event.Event{d.ResumedEvent(a)}}
	if told != nil {
		c.Events = append(c.Events, told(a))
	}
	if err = d.PassMessages(ctx, c, old, a.ID, nil); err == nil {
		err = d.Commit(ctx, c)
	}
	if errors.Is(err, daemon.ErrMoved) && ctx.Err() == nil { // another resume, which the next look refuses; or the last usage of the session was counted
		fresh, err := d.Store.Agent(ctx, old.ID)
		if err != nil {
			return *old, fmt.Errorf("agent %d: resume: %w", old.ID, err)
		}
		return d.openAgain(ctx, &fresh, told)
	}
	if err != nil {
		return *old, fmt.Errorf("agent %d: resume: %w", old.ID, err)
	}
	return d.Agent(ctx, a.ID)
}

// opensAgain makes a successor the one that opens the session of the ended agent old again.
func opensAgain(d *Supervisor, next, old *daemon.Agent) {
	next.Resume, next.Persona = *old.SessionID, d.presentSlug(old)
	next.PipelineID, next.StepID = nil, nil // resuming the pipeline goes on with the step; this agent only shows the old session
}

// ResumedEvent is the event of a new agent that opens a session again.
func (d *Supervisor) ResumedEvent(a *daemon.Agent) *event.Event {
	return d.Event(event.AgentCreated, &a.ID, nil, map[string]any{
		"persona": a.Persona, "previous_agent_id": a.PreviousAgentID, "generation": a.Generation, "name": a.Name, "resume": a.Resume,
	})
}

// Resumable refuses to resume an ended agent if its handoff is in progress, if an active agent has its session or its work, if
// no agent can be started there, or if its conversation is gone.
func (d *Supervisor) Resumable(ctx context.Context, old *daemon.Agent) error {
	if h, ok, err := d.OpenHandoff(ctx, old.ID); err != nil {
		return err
	} else if ok {
		return daemon.Errorf(daemon.KindConflict, daemon.CodeHandoffInProgress, "Agent's handoff %d is in progress: wait for it, or cancel it", h.ID)
	}
	if err := d.NoHeir(ctx, old); err != nil {
		return err
	}
	next := SuccessorOf(d.Launcher, old, 0, d.Now())
	opensAgain(d, next, old)
	if err := CanStart(ctx, d.Launcher, next); err != nil {
		return err
	}
	if !old.ConversationGone() && !d.FileGone(old) {
		return nil
	}
	hint, err := d.startAnew(ctx, old)
	if err != nil {
		return err
	}
	return daemon.Errorf(daemon.KindConflict, daemon.CodeConversationGone, "Agent's session has no conversation that could be opened again: %s", hint)
}

// NoHeir refuses if an active agent is the successor of the ended agent old, or has opened old's session again: two agents
// must not do the same work. The agents with the ids but do not count, because they are the handoff's own successors.
func (d *Supervisor) NoHeir(ctx context.Context, old *daemon.Agent, but ...int64) error {
	active, err := d.AllAgents(ctx, daemon.AgentFilter{Active: true})
	if err != nil {
		return err
	}
	for _, a := range active {
		follows := a.PreviousAgentID != nil && *a.PreviousAgentID == old.ID
		same := a.SessionID != nil && old.SessionID != nil && *a.SessionID == *old.SessionID
		if a.ID != old.ID && !slices.Contains(but, a.ID) && (follows || same) {
			return daemon.Errorf(daemon.KindConflict, daemon.CodeAgentResumed, "Agent %d goes on with its work already: stop it first with `understudy agent stop %[1]d`, or leave the work to it", a.ID)
		}
	}
	return nil
}

// startAnew says how to go on with the work of an ended agent without its session.
func (d *Supervisor) startAnew(ctx context.Context, a *daemon.Agent) (string, error) {
	hint := fmt.Sprintf("start anew in %s with `%s`", a.Cwd, views.StartCommand(a))
	if a.Persona == nil {
		return hint, nil
	}
	last, err := d.lastHandoffs(ctx, a.Host, *a.Persona)
	if err == nil && len(last) > 0 {
		hint += ", which is pointed to the persona's last document, " + last[0]
	}
	return hint, err
}

// withPredecessor returns the rows that are written with the end of an agent: its own and, if its runtime did not find the
// session that it was to open again, that of the agent that had the session, so that nobody tries again.
func (d *Supervisor) withPredecessor(ctx context.Context, a *daemon.Agent) ([]*daemon.Agent, error) {
	rows := []*daemon.Agent{a}
	if a.PreviousAgentID == nil || a.EndCode != daemon.EndedLost {
		return rows, nil
	}
	old, err := d.Store.Agent(ctx, *a.PreviousAgentID)
	if err == nil && !old.Active() {
		old.HoldBy(daemon.HoldNoConversation.Hold(), d.Now())
		rows = append(rows, &old)
	}
	if errors.Is(err, daemon.ErrNotFound) {
		err = nil
	}
	return rows, err
}

// presentSlug returns the slug that the persona has now which an ended agent played; nil: it played none.
func (d *Supervisor) presentSlug(a *daemon.Agent) *string {
	if a.Persona == nil {
		return nil
	}
	if _, err := d.Personas.Get(*a.Persona); errors.Is(err, personas.ErrNotFound) {
		if now := d.Personas.Renamed(*a.Persona); now != "" {
			return &now
		}
	}
	return a.Persona
}
