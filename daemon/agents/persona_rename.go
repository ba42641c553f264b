package agents

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/personas"
)

// RenamePersona gives a persona another slug. It refuses while something is under way under the old one. The rows of what is over keep
// the old slug, because that is what was; the persona's next agents are pointed to its documents all the same, and the session of
// an agent that played it goes on under the new slug.
func (d *Supervisor) RenamePersona(ctx context.Context, slug, to string) (personas.Persona, error) {
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
func (d *Supervisor) refuseUnderWay(ctx context.Context, slug string) error {
	o, err := d.overview(ctx, daemon.MostAgents)
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

// formerSlugs returns the slugs that a persona had before, the newest first.
func (d *Supervisor) formerSlugs(slug string) []string {
	p, err := d.Personas.Get(slug)
	if err != nil || p.Former == "" {
		return nil
	}
	former := strings.Split(p.Former, ",")
	slices.Reverse(former)
	return former
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
