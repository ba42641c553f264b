package intake

import (
	"context"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/personas"
)

// EnvWork is what a room has of the work of agents: what they are given, and who goes on with it. Its methods are safe for concurrent use.
type EnvWork struct{ d *Daemon }

// Runtime returns an agent's runtime. If that is no longer configured, the runtime that it returns can do nothing.
func (w EnvWork) Runtime(a *daemon.Agent) *runtimes.Runtime { return w.d.RuntimeOf(a) }

// CheckRuntime refuses a runtime that agents cannot be started with here.
func (w EnvWork) CheckRuntime(name string) error { return w.d.CheckRuntime(name) }

// LimitPolicy returns what is done about an agent's limits: what its persona says, over the operator's settings.
func (w EnvWork) LimitPolicy(a *daemon.Agent) daemon.LimitSettings {
	return w.d.FactsFor(a).LimitPolicy(a)
}

// AutoFor returns the settings of automatic handoffs for an agent: those of its persona, over the operator's.
func (w EnvWork) AutoFor(a *daemon.Agent) daemon.AutoSettings { return w.d.FactsFor(a).AutoFor(a) }

// Generations returns the newest generations of an agent's line, at most most, the oldest first.
func (w EnvWork) Generations(ctx context.Context, a *daemon.Agent, most int) ([]daemon.Generation, error) {
	return w.d.Generations(ctx, a, most)
}

// OpenHandoff returns the open handoff of an agent.
func (w EnvWork) OpenHandoff(ctx context.Context, agentID int64) (h daemon.Handoff, open bool, err error) {
	return w.d.OpenHandoff(ctx, agentID)
}

// RequestHandoff requests a handoff of an agent's work.
func (w EnvWork) RequestHandoff(ctx context.Context, agentID int64, in handoffs.HandoffRequest) (daemon.Handoff, error) {
	return w.d.RequestHandoff(ctx, agentID, in)
}

// NewMessage makes a text for an agent, for a change that is still to be committed.
func (w EnvWork) NewMessage(ctx context.Context, agentID int64, text string) (*daemon.Delivery, error) {
	return w.d.NewMessage(ctx, agentID, text, false)
}

// NewResumed makes the agent that opens the session of an agent that has ended, and its event, for a change that is still to be committed.
// It refuses an agent whose session cannot be opened.
func (w EnvWork) NewResumed(ctx context.Context, old *daemon.Agent) (*daemon.Agent, *event.Event, error) {
	if err := w.d.Resumable(ctx, old); err != nil {
		return nil, nil, err
	}
	next, err := w.d.NewSuccessor(ctx, old, w.d.Now())
	if err != nil {
		return nil, nil, err
	}
	next.Resume = *old.SessionID
	return next, w.d.ResumedEvent(next), nil
}

// Handoff returns a handoff as people are shown it.
func (w EnvWork) Handoff(ctx context.Context, id int64) (daemon.Handoff, error) {
	return w.d.Handoff(ctx, id)
}

// PlanTree makes the row of a work tree, for a change that is still to be committed; its own lane makes the tree.
func (w EnvWork) PlanTree(ctx context.Context, s worktree.Spec) (*daemon.Worktree, error) {
	return w.d.PlanTree(ctx, s)
}

// SeesToLimit reports whether the agent's lane does something about a limit of the agent, or about an API that fails, so that the work goes
// on without a person.
func (w EnvWork) SeesToLimit(a *daemon.Agent) bool { return w.d.FactsFor(a).SeesToLimit(a) }

// Persona returns a persona that can be played. It refuses others.
func (w EnvWork) Persona(slug string) (personas.Persona, error) { return w.d.Persona(slug) }

// CanStart refuses an agent that cannot be started here.
func (w EnvWork) CanStart(ctx context.Context, a *daemon.Agent) error {
	return agents.CanStart(ctx, w.d.Supervisor.Launcher, a)
}

// LastPrompt returns the last prompt that gave an agent work. told says that a hook reported it and can be parsed; otherwise prompt is "".
func (w EnvWork) LastPrompt(ctx context.Context, a *daemon.Agent) (prompt string, told bool, err error) {
	return w.d.LastPrompt(ctx, a)
}

// StepOf returns the step that an agent works on, and its pipeline; nil: the agent works on none.
func (w EnvWork) StepOf(ctx context.Context, a *daemon.Agent) (*daemon.Pipeline, *daemon.Step, error) {
	return w.d.StepOf(ctx, a)
}

// TaskFile writes what a step asks into a file that its agent may read, and returns the file and words that name it.
func (w EnvWork) TaskFile(a *daemon.Agent, s *daemon.Step) (path, words string, err error) {
	return w.d.TaskFile(a, s)
}

// RetryHandoff makes the change that takes up a handoff which has failed after its record. It refuses others.
func (w EnvWork) RetryHandoff(ctx context.Context, h *daemon.Handoff, a *daemon.Agent) (*daemon.Change, error) {
	return w.d.RetryChange(ctx, h, a)
}

// CancelHandoff makes the change that cancels a handoff.
func (w EnvWork) CancelHandoff(ctx context.Context, h *daemon.Handoff, now time.Time) (*daemon.Change, error) {
	return w.d.CancelChange(ctx, h, now)
}

// AssembleStep makes the output of a step from its agent's final message, with all that the step passes on. heir is who plays the next step;
// "": nobody does. fallback says why the next step gets the message alone; "": it gets all.
func (w EnvWork) AssembleStep(ctx context.Context, s *daemon.Step, a *daemon.Agent, id int64, text, heir string) (out *daemon.StepHandoff, rec *daemon.StepRecord, fallback string, err error) {
	began := time.Now()
	job := handoffs.NewStepAssembly(w.d.Flow, s, a, text, heir)
	got, err := w.d.Assemble(ctx, job)
	switch {
	case ctx.Err() != nil, daemon.Unavailable(err):
		return nil, nil, "", err // the output could not be committed now, either
	case err != nil:
		fallback = words.TrimDot(err.Error())
		fields, ok := data.Extract(text)
		got = handoffs.Extract(&job.H, a, job.Doc, w.d.Now(), fields, ok)
		got.Warnings = []string{"Fallback handoff used: " + fallback}
		got.Context = data.RenderContext(job.Doc.Bytes)
	}
	now := w.d.Now() // the time of the assembly counts for this step
	rec = &daemon.StepRecord{
		Context: string(got.Context), Messages: got.Record.Messages, Decisions: got.Record.Decisions, References: got.Files,
	}
	sum := engine.Checksum(got.Context)
	out = &daemon.StepHandoff{
		ID: id, ContentMD: text, Metadata: (*daemon.Metadata)(got.Structured), CreatedAt: now, StepID: s.ID, AgentID: a.ID,
		Warnings: append([]string{}, got.Warnings...), ContextChecksum: &sum, ContextValidated: got.Validated,
		Metrics: daemon.StepMetrics{
			DurationMS: handoffs.Milliseconds(time.Since(began)), TotalMS: daemon.Elapsed(*s.StartedAt, now).Milliseconds(), ContextSizeBytes: int64(len(got.Context)),
			MessagesTransferred: got.Rendered.Messages, DecisionsTransferred: got.Rendered.Decisions, MemoryRefsTransferred: got.Rendered.References,
		},
	}
	return out, rec, fallback, nil
}
