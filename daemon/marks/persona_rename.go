package marks

import (
	"context"
	"slices"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/personas"
)

// RenamePersona gives a persona another slug. It refuses while something is under way under the old one. The rows of what is over keep
// the old slug, because that is what was; the persona's next agents are pointed to its documents all the same, and the session of
// an agent that played it goes on under the new slug.
func (d *Room) RenamePersona(ctx context.Context, slug, to string) (personas.Persona, error) {
	if err := d.refuseUnderWay(ctx, slug); err != nil {
		return personas.Persona{}, err
	}
	p, err := d.Personas.Rename(ctx, slug, to)
	if err != nil {
		return p, err
	}
	return p, d.Commit(ctx, &daemon.Change{Events: []*event.Event{d.Event(event.PersonaRenamed, nil, nil, map[string]any{"was": slug, "name": p.Slug})}})
}

// refuseUnderWay refuses to rename a persona that an agent plays, that an open handoff or one that waits for a retry is about, or that
// an open pipeline needs.
func (d *Room) refuseUnderWay(ctx context.Context, slug string) error {
	o, err := agents.ReadOverview(ctx, d.Supervisor, daemon.MostAgents)
	if err != nil {
		return err
	}
	for i := range o.Agents {
		if a := &o.Agents[i]; a.PersonaSlug() == slug {
			return daemon.Errorf(daemon.KindConflict, daemon.CodePersonaPlayed, "Persona %s is played by agent %d: stop that first, or rename the persona later", slug, a.ID)
		}
	}
	with, orphans := o.Concerns()
	for _, h := range with {
		orphans = append(orphans, h)
	}
	for _, h := range orphans {
		if h.Persona == slug || slices.Contains(h.Targets(), slug) {
			return daemon.Errorf(daemon.KindConflict, daemon.CodePersonaPlayed, "Handoff %d is about persona %s: wait for its end, or retry or cancel it first", h.ID, slug)
		}
	}
	for i := range o.Pipelines {
		if p := &o.Pipelines[i]; p.Open() && slices.ContainsFunc(p.Steps, func(s daemon.Step) bool { return s.AgentName == slug }) {
			return daemon.Errorf(daemon.KindConflict, daemon.CodePersonaPlayed, "Pipeline %d has a step for persona %s: wait for its end, or abort it first", p.ID, slug)
		}
	}
	return nil
}
