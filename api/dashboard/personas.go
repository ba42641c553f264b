package dashboard

import (
	"context"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/usage"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/personas"
)

// people is the data of the list of personas.
type people struct {
	Active   []played
	Archived []played
}

// played is a persona with the number of active agents that play it.
type played struct {
	personas.Persona
	Agents int
}

// persona is one persona with the agents that have played it.
type persona struct {
	personas.Persona
	Lines  [][]generation
	Active []generation       // the agents that play it now
	More   bool               // the page does not show all agents
	Used   string             // what its agents have used; "": nothing was counted
	Today  *usage.BudgetState // nil: it has no budget
}

// People draws the list of personas.
func (p *Pages) People(ctx context.Context) (*Page, error) {
	agents, err := p.Daemon.Agents(ctx, daemon.AgentFilter{Active: true, Limit: maxAgents})
	if err != nil {
		return nil, err
	}
	playing := map[string]int{}
	for _, a := range agents {
		playing[a.PersonaSlug()]++
	}
	out := &people{}
	for _, persona := range p.Personas.List() {
		one := played{persona, playing[persona.Slug]}
		if persona.Archived {
			out.Archived = append(out.Archived, one)
		} else {
			out.Active = append(out.Active, one)
		}
	}
	return p.page("people", "Personas", "personas", "agent handoff", out), nil
}

// Persona draws the page of one persona.
func (p *Pages) Persona(ctx context.Context, slug string) (*Page, error) {
	found, err := p.Personas.Get(slug)
	if err != nil {
		return nil, err
	}
	agents, err := p.Daemon.Agents(ctx, daemon.AgentFilter{Persona: slug, Limit: maxPlayed})
	if err != nil {
		return nil, err
	}
	handoffs, err := p.Daemon.Handoffs(ctx, daemon.HandoffFilter{Persona: slug, Limit: maxPlayed})
	if err != nil {
		return nil, err
	}
	out := &persona{Persona: found, More: len(agents) == maxPlayed}
	if out.Used, err = p.used(ctx, daemon.UsageQuery{Persona: slug}); err != nil {
		return nil, err
	}
	if out.Today, err = p.Usage.Budget(ctx, slug); err != nil {
		return nil, err
	}
	page := p.page("persona", slug, "personas", "agent handoff", out)
	for _, line := range views.Lines(agents, handoffs) {
		line := generations(line, 0, page.Now)
		out.Lines = append(out.Lines, line)
		for _, g := range line {
			if g.Active() {
				out.Active = append(out.Active, g)
			}
		}
	}
	return page, nil
}
