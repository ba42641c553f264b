package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

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
	Dir        string     `json:"dir"`
	Skill      string     `json:"skill"`      // the text of skill.md below the front matter
	SkillFile  string     `json:"skill_file"` // the whole text of skill.md
	Experience string     `json:"experience"`
	ModifiedAt *time.Time `json:"modified_at"` // time of skill.md; null if there is no such file
	Former     []string   `json:"former"`      // the slugs that it had before, the oldest first
}

// renamePersonaRequest is the change of a persona.
type renamePersonaRequest struct {
	Slug string `json:"slug"`
}

type newPersonaRequest struct {
	Role        string `json:"role"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Skill       string `json:"skill"`
}

func (s *Server) createPersona(c echo.Context) error {
	var in newPersonaRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	p, err := s.Personas.Create(c.Request().Context(), personas.New{
		Role: in.Role, Name: in.Name, Description: in.Description, Skill: in.Skill,
	})
	return reply(c, http.StatusCreated, fullPersona(p), err)
}

func (s *Server) listPersonas(c echo.Context) error {
	params := paramsOf(c)
	archived := params.oneOf("archived", "true", "false") == "true"
	if params.err != nil {
		return params.err
	}
	var list []Persona
	for _, p := range s.Personas.List() {
		if p.Archived == archived {
			list = append(list, persona(p))
		}
	}
	return replyList(c, list, nil)
}

func (s *Server) showPersona(c echo.Context) error {
	p, err := s.Personas.Get(c.Param("slug"))
	return reply(c, http.StatusOK, fullPersona(p), err)
}

func (s *Server) archivePersona(c echo.Context) error {
	if err := decode(c, &struct{}{}); err != nil {
		return err
	}
	if err := s.Daemon.ArchivePersona(c.Request().Context(), c.Param("slug")); err != nil {
		return err
	}
	return s.showPersona(c)
}

func (s *Server) renamePersona(c echo.Context) error {
	var in renamePersonaRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	p, err := s.Marks.RenamePersona(c.Request().Context(), c.Param("slug"), in.Slug)
	return reply(c, http.StatusOK, fullPersona(p), err)
}

func (s *Server) listPersonaHandoffs(c echo.Context) error {
	p, err := s.Personas.Get(c.Param("slug"))
	if err != nil {
		return err
	}
	return s.replyHandoffs(c, p.Slug)
}

func persona(p personas.Persona) Persona {
	return Persona{
		Slug: p.Slug, Role: p.Role, Name: p.Name, N: p.N, Description: p.Description,
		Runtime: orNull(p.Runtime), Model: orNull(p.Model),
		Handoffs: p.Handoffs, Archived: p.Archived, Problem: orNull(p.Problem),
	}
}

func fullPersona(p personas.Persona) FullPersona {
	full := FullPersona{Persona: persona(p), Dir: p.Dir, Skill: p.Skill, SkillFile: p.SkillFile, Experience: p.Experience}
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
