package api

import (
	"time"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/personas"
)

// Template is what runs are made from.
type Template struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Steps       []TemplateStep `json:"steps"`
	File        string         `json:"file"`
	Problem     *string        `json:"problem"` // why the file as it is now can't be used, in a sentence; null if it can
}

// TemplateStep is one step of a template.
type TemplateStep struct {
	Agent       string   `json:"agent"` // a persona's slug, or a role
	Description string   `json:"description"`
	Prompt      string   `json:"prompt"`
	Approval    bool     `json:"approval"`
	RemindAfter *float64 `json:"remind_after"` // seconds; null: never
	Timeout     *float64 `json:"timeout"`      // seconds; null: as the settings say
}

func (s *Server) listTemplates(c echo.Context) error {
	var list []Template
	for _, t := range s.Templates.List() {
		list = append(list, template(t))
	}
	return replyList(c, list, nil)
}

func template(t personas.Template) Template {
	steps := make([]TemplateStep, len(t.Steps))
	for i, step := range t.Steps {
		steps[i] = TemplateStep{
			Agent: step.Agent, Description: step.Description, Prompt: step.Prompt, Approval: step.Approval,
			RemindAfter: seconds(step.RemindAfter), Timeout: seconds(step.Timeout),
		}
	}
	return Template{Name: t.Name, Description: t.Description, Steps: steps, File: t.File, Problem: orNull(t.Problem)}
}

func seconds(d time.Duration) *float64 {
	if d == 0 {
		return nil
	}
	n := d.Seconds()
	return &n
}
