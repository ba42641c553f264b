package api

import (
	"context"
	"net/url"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pipelines"
	"github.com/understudyd/understudy/personas"
)

// RenamePersona gives a persona another slug.
func (c personaCalls) RenamePersona(ctx context.Context, slug, to string) (FullPersona, error) {
	return call[FullPersona](ctx, c, "PATCH", "/api/personas/"+url.PathEscape(slug), renamePersonaRequest{Slug: to})
}

// CreatePersona makes a persona. It gets the next number for its role and name.
func (c personaCalls) CreatePersona(ctx context.Context, in personas.New) (FullPersona, error) {
	return call[FullPersona](ctx, c, "POST", "/api/personas", in)
}

// Personas lists personas in the order of their slugs: those that are archived if archived is true, otherwise the others.
func (c personaCalls) Personas(ctx context.Context, archived bool) ([]Persona, error) {
	return call[[]Persona](ctx, c, "GET", "/api/personas"+query(map[string]any{"archived": archived}), nil)
}

// Persona returns one persona with its texts.
func (c personaCalls) Persona(ctx context.Context, slug string) (FullPersona, error) {
	return call[FullPersona](ctx, c, "GET", "/api/personas/"+url.PathEscape(slug), nil)
}

// ArchivePersona archives a persona with its documents.
func (c personaCalls) ArchivePersona(ctx context.Context, slug string) (FullPersona, error) {
	return call[FullPersona](ctx, c, "DELETE", "/api/personas/"+url.PathEscape(slug), nil)
}

// PersonaHandoffs lists a persona's handoffs, the newest first.
func (c personaCalls) PersonaHandoffs(ctx context.Context, slug string, o ListOptions) ([]daemon.Handoff, error) {
	o.Persona = "" // the address names the persona
	return call[[]daemon.Handoff](ctx, c, "GET", "/api/personas/"+url.PathEscape(slug)+"/handoffs"+o.query(), nil)
}

// CreatePipeline creates a pipeline from a template.
func (c pipelineCalls) CreatePipeline(ctx context.Context, in pipelines.NewPipeline) (daemon.Pipeline, error) {
	body := newPipelineRequest{Template: in.Template, Title: in.Title, Prompt: in.Prompt, Branch: in.Branch, Cwd: in.Cwd}
	if err := stepsOf(in.Steps, &body); err != nil {
		return daemon.Pipeline{}, err
	}
	return call[daemon.Pipeline](ctx, c, "POST", "/api/pipelines", body)
}

// Pipelines lists pipelines, the newest first.
func (c pipelineCalls) Pipelines(ctx context.Context, o ListOptions) ([]daemon.Pipeline, error) {
	return call[[]daemon.Pipeline](ctx, c, "GET", "/api/pipelines"+o.query(), nil)
}

// Pipeline returns one pipeline.
func (c pipelineCalls) Pipeline(ctx context.Context, id int64) (daemon.Pipeline, error) {
	return call[daemon.Pipeline](ctx, c, "GET", at("pipelines", id, ""), nil)
}

// AbortPipeline ends a pipeline that has not ended.
func (c pipelineCalls) AbortPipeline(ctx context.Context, id int64) (daemon.Pipeline, error) {
	return call[daemon.Pipeline](ctx, c, "POST", at("pipelines", id, "/abort"), struct{}{})
}

// ResumePipeline resumes a failed pipeline from its first step that is not done. If skip is true, it resumes from the
// step after that.
func (c pipelineCalls) ResumePipeline(ctx context.Context, id int64, skip bool) (daemon.Pipeline, error) {
	return call[daemon.Pipeline](ctx, c, "POST", at("pipelines", id, "/resume"), resumeRequest{Skip: skip})
}

// ApprovePipeline lets a pipeline continue that waits for approval. The step gets the comment, if there is one.
func (c pipelineCalls) ApprovePipeline(ctx context.Context, id int64, in pipelines.Decision) (daemon.Pipeline, error) {
	return call[daemon.Pipeline](ctx, c, "POST", at("pipelines", id, "/approve"), decisionRequest{givenID(in.StepID), in.After, in.Comment, in.Goto})
}

// RejectPipeline ends a pipeline that waits for approval. The comment, if there is one, becomes its error.
func (c pipelineCalls) RejectPipeline(ctx context.Context, id int64, in pipelines.Decision) (daemon.Pipeline, error) {
	return call[daemon.Pipeline](ctx, c, "POST", at("pipelines", id, "/reject"), decisionRequest{StepID: givenID(in.StepID), After: in.After, Comment: in.Comment})
}

// Templates lists the templates in the order of their names, including those that cannot be used.
func (c pipelineCalls) Templates(ctx context.Context) ([]Template, error) {
	return call[[]Template](ctx, c, "GET", "/api/templates", nil)
}
