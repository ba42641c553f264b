package sim

import (
	"cmp"
	"context"
	"fmt"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/permissions"
	"github.com/understudyd/understudy/daemon/pipelines"
	"github.com/understudyd/understudy/daemon/views"
)

// What people ask of daemons. Each function returns the refusal, if there is one.

// request sends a request to a host's daemon, and returns its answer.
func request[T any](p *person, h *host, what string, do func(ctx context.Context, d *house.House) (T, error)) (out T, err error) {
	err = p.ask(h, what, func(ctx context.Context, d *house.House) (err error) {
		out, err = do(ctx, d)
		return err
	})
	return out, err
}

// startWith requests a new agent, and returns its id.
func startWith(p *person, h *host, in agents.NewAgent) (int64, error) {
	in.Cwd = h.cwd
	a, err := request(p, h, "start an agent", func(ctx context.Context, d *house.House) (daemon.Agent, error) { return d.Daemon.CreateAgent(ctx, in) })
	return a.ID, err
}

// startOn requests a new agent on a runtime, which must be granted.
func startOn(p *person, h *host, runtime string) int64 {
	id, err := startWith(p, h, agents.NewAgent{Persona: personaSlugs[0], Runtime: runtime})
	p.w.ok(err)
	return id
}

// stop stops an agent.
func stop(p *person, h *host, id int64, force bool) error {
	return p.ask(h, fmt.Sprintf("stop agent %d", id), func(ctx context.Context, d *house.House) error {
		return errorOf(d.Daemon.StopAgent(ctx, id, force))
	})
}

// resumeAgent opens the session of an agent again.
func resumeAgent(p *person, h *host, id int64) (daemon.Agent, error) {
	return request(p, h, fmt.Sprintf("resume agent %d", id), func(ctx context.Context, d *house.House) (daemon.Agent, error) {
		return d.Daemon.ResumeAgent(ctx, id)
	})
}

// resumeAll opens the sessions of all agents again that have died.
func resumeAll(p *person, h *host) []views.Resumption {
	list, err := request(p, h, "resume all", func(ctx context.Context, d *house.House) ([]views.Resumption, error) {
		return d.Daemon.ResumeAgents(ctx, nil)
	})
	p.w.ok(err)
	return list
}

// assign gives an agent the first persona.
func assign(p *person, h *host, id int64) error {
	return p.ask(h, fmt.Sprintf("assign a persona to agent %d", id), func(ctx context.Context, d *house.House) error {
		return errorOf(d.Daemon.AssignPersona(ctx, id, personaSlugs[0]))
	})
}

// say sends a text to an agent.
func say(p *person, h *host, id int64, text string, command bool) (daemon.Delivery, error) {
	return request(p, h, "send "+text, func(ctx context.Context, d *house.House) (daemon.Delivery, error) {
		return d.Daemon.SendMessage(ctx, id, text, command)
	})
}

// handOff requests a handoff.
func handOff(p *person, h *host, id int64, in handoffs.HandoffRequest) error {
	return p.ask(h, fmt.Sprintf("hand over agent %d %s %s", id, in.Mode, heirWords(&in)), func(ctx context.Context, d *house.House) error {
		return errorOf(d.Daemon.RequestHandoff(ctx, id, in))
	})
}

// cancel cancels the handoff of an agent.
func cancel(p *person, h *host, id int64) error {
	return p.ask(h, fmt.Sprintf("cancel the handoff of agent %d", id), func(ctx context.Context, d *house.House) error {
		return errorOf(d.Daemon.CancelHandoff(ctx, id, 0))
	})
}

// retryAs retries a handoff with choices.
func retryAs(p *person, h *daemon.Handoff, in handoffs.Retry) error {
	return p.ask(p.hostNamed(h.Host), fmt.Sprintf("retry handoff %d", h.ID), func(ctx context.Context, d *house.House) error {
		return errorOf(d.Daemon.RetryHandoff(ctx, h.ID, in))
	})
}

// createPipeline creates a pipeline, which must be granted, and returns its id.
func createPipeline(p *person, h *host, in pipelines.NewPipeline) int64 {
	in.Title, in.Prompt = "A pipeline", cmp.Or(in.Prompt, "Mend the roof")
	pl, err := request(p, h, "create a pipeline", func(ctx context.Context, d *house.House) (daemon.Pipeline, error) {
		return d.Pipelines.CreatePipeline(ctx, in)
	})
	p.w.ok(err)
	return pl.ID
}

// abort aborts a pipeline.
func abort(p *person, h *host, id int64) error {
	return p.ask(h, fmt.Sprintf("abort pipeline %d", id), func(ctx context.Context, d *house.House) error {
		return errorOf(d.Pipelines.AbortPipeline(ctx, id))
	})
}

// resumePipeline resumes a pipeline that has failed, and skips the step at which it has failed if skip is set.
func resumePipeline(p *person, h *host, id int64, skip bool) error {
	return p.ask(h, fmt.Sprintf("resume pipeline %d, skip %t", id, skip), func(ctx context.Context, d *house.House) error {
		p.w.resumed[id]++ // for each attempt: the daemon may have carried out one whose answer was lost
		return errorOf(d.Pipelines.ResumePipeline(ctx, id, skip))
	})
}

// decision is what a person says about a pipeline: [pipelines.Room.ApprovePipeline] or its opposite.
type decision func(*pipelines.Room, context.Context, int64, pipelines.Decision) (daemon.Pipeline, error)

// decide says something about a pipeline.
func decide(p *person, h *host, id int64, do decision, in pipelines.Decision) error {
	return p.ask(h, fmt.Sprintf("decide about pipeline %d", id), func(ctx context.Context, d *house.House) error {
		return errorOf(do(d.Pipelines, ctx, id, in))
	})
}

// allow answers a permission from the seat.
func allow(p *person, h *host, asked *daemon.Permission, verdict daemon.PermissionVerdict) error {
	return p.ask(h, fmt.Sprintf("allow permission %d", asked.ID), func(ctx context.Context, d *house.House) error {
		return errorOf(d.Permissions.Answer(ctx, asked.ID, permissions.Answer{Verdict: verdict, Digest: asked.Digest, From: p.name}))
	})
}
