package api

import (
	"context"
	"time"

	"github.com/understudyd/understudy/personas"
)

// Template is a template of pipelines.
type Template struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Steps       []TemplateStep `json:"steps"`
	File        string         `json:"file"`
	Problem     *string        `json:"problem"` // a sentence that says why the present file cannot be used, or null
}

// TemplateStep is one step of a template.
type TemplateStep struct {
	Agent       string   `json:"agent"` // a persona's slug, or a role
	Description string   `json:"description"`
	Prompt      string   `json:"prompt"`
	Approval    bool     `json:"approval"`
	RemindAfter *float64 `json:"remind_after"` // seconds; null for never
	Timeout     *float64 `json:"timeout"`      // seconds; null for the setting pipeline.step_timeout
	Runtime     string   `json:"runtime"`      // "" for that of the persona
	Model       string   `json:"model"`        // "" for that of the persona

	Next      []personas.Rule `json:"next"`       // the first that applies says which step comes next
	Otherwise string          `json:"otherwise"`  // "stop": a person decides if no rule applies; "": the following step comes
	MaxRounds int             `json:"max_rounds"` // with Next: from that round on a person must approve a further one
}

func (h personaHandlers) listTemplates(context.Context) (list []Template, _ error) {
	for _, t := range h.templates.List() {
		list = append(list, template(t))
	}
	return list, nil
}

func template(t personas.Template) Template {
	steps := make([]TemplateStep, len(t.Steps))
	for i, step := range t.Steps {
		steps[i] = TemplateStep{
			Agent: step.Agent, Description: step.Description, Prompt: step.Prompt, Approval: step.Approval,
			RemindAfter: seconds(step.RemindAfter), Timeout: seconds(step.Timeout),
			Runtime: step.Runtime, Model: step.Model, Next: append([]personas.Rule{}, step.Next...), Otherwise: step.Otherwise, MaxRounds: step.MaxRounds,
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
