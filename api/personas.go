package api

import (
	"context"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/personas"
)

// Persona is a persona in a list.
type Persona struct {
	Slug        string  `json:"slug"`
	Role        string  `json:"role"`
	Name        string  `json:"name"`
	N           int     `json:"n"`
	Description string  `json:"description"`
	Runtime     *string `json:"runtime"` // null for the default runtime
	Model       *string `json:"model"`   // null for the runtime's default model
	Handoffs    int     `json:"handoffs"`
	Archived    bool    `json:"archived"`
	Problem     *string `json:"problem"` // a sentence that says why the persona cannot be used; null if it can be used
}

// FullPersona is a persona with the text of its files.
type FullPersona struct {
	Persona
	Dir        string `json:"dir"`
	Skill      string `json:"skill"`      // the text of skill.md below the front matter
	SkillFile  string `json:"skill_file"` // the whole text of skill.md
	Experience string `json:"experience"`
	// ExperienceCut is how many bytes of experience.md stand before Experience: it has grown too long to be given whole.
	ExperienceCut int64      `json:"experience_cut"`
	ModifiedAt    *time.Time `json:"modified_at"` // time of skill.md; null if there is no such file
	Former        []string   `json:"former"`      // the slugs that it had before, the oldest first
}

// renamePersonaRequest is the change of a persona.
type renamePersonaRequest struct {
	Slug string `json:"slug"`
}

// personaHandlers answer about personas, and about the templates of pipelines, which name them.
type personaHandlers struct {
	*house.House
	people    *personas.Store
	templates *personas.Templates
}

func (h personaHandlers) create(ctx context.Context, in personas.New) (FullPersona, error) {
	p, err := h.people.Create(ctx, in)
	return fullPersona(p), err
}

func isArchived(p *params) bool { return p.oneOf("archived", "true", "false") == "true" }

func (h personaHandlers) list(_ context.Context, archived bool) (list []Persona, _ error) {
	for _, p := range h.people.List() {
		if p.Archived == archived {
			list = append(list, persona(p))
		}
	}
	return list, nil
}

func (h personaHandlers) show(_ context.Context, slug string) (FullPersona, error) {
	p, err := h.people.Get(slug)
	return fullPersona(p), err
}

func (h personaHandlers) archive(ctx context.Context, slug string) (FullPersona, error) {
	if err := h.Daemon.ArchivePersona(ctx, slug); err != nil {
		return FullPersona{}, err
	}
	return h.show(ctx, slug)
}

func (h personaHandlers) rename(ctx context.Context, slug string, in renamePersonaRequest) (FullPersona, error) {
	p, err := h.Marks.RenamePersona(ctx, slug, in.Slug)
	return fullPersona(p), err
}

func (h personaHandlers) handoffs(ctx context.Context, slug string, f daemon.HandoffFilter) ([]daemon.Handoff, error) {
	if _, err := h.people.Get(slug); err != nil {
		return nil, err
	}
	f.Persona = slug
	return h.Daemon.Handoffs(ctx, f)
}

func persona(p personas.Persona) Persona {
	return Persona{
		Slug: p.Slug, Role: p.Role, Name: p.Name, N: p.N, Description: p.Description,
		Runtime: orNull(p.Runtime), Model: orNull(p.Model),
		Handoffs: p.Handoffs, Archived: p.Archived, Problem: orNull(p.Problem),
	}
}

func fullPersona(p personas.Persona) FullPersona {
	full := FullPersona{Persona: persona(p), Dir: p.Dir, Skill: p.Skill, SkillFile: p.SkillFile, Experience: p.Experience, ExperienceCut: p.ExperienceCut}
	full.Former = []string{}
	if p.Former != "" {
		full.Former = strings.Split(p.Former, ",")
	}
	if !p.ModTime.IsZero() {
		at := p.ModTime.UTC()
		full.ModifiedAt = &at
	}
	return full
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
