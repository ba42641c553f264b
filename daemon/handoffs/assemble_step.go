package handoffs

import (
	"context"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
)

// NewStepAssembly begins the assembly of what a step passes on. For the assembly, the output is a handoff's document, and whoever plays the
// next step its heir; "": nobody does.
func NewStepAssembly(d *Flow, s *daemon.Step, a *daemon.Agent, text, heir string) *assembly {
	out := &assembly{
		d: d, agent: *a, Doc: data.Document{Bytes: []byte(text)}, settings: d.Settings().Handoff, lapBegan: time.Now(), step: s,
		H: daemon.Handoff{AgentID: a.ID, Persona: s.Who(), SourceAgent: s.AgentName},
	}
	if heir != "" {
		out.H.Heirs = []daemon.HandoffHeir{{Heir: daemon.Heir{Persona: heir}}}
	} else {
		out.settings.ValidateContext = false // nobody takes over
	}
	return out
}

// AssembleStep makes the output of a step from its agent's final message, with all that the step passes on. heir is who plays the next step;
// "": nobody does. fallback says why the next step gets the message alone; "": it gets all.
func AssembleStep(ctx context.Context, d *Flow, s *daemon.Step, a *daemon.Agent, id int64, text, heir string) (out *daemon.StepHandoff, rec *daemon.StepRecord, fallback string, err error) {
	began := time.Now()
	job := NewStepAssembly(d, s, a, text, heir)
	got, err := d.Assemble(ctx, job)
	switch {
	case ctx.Err() != nil, daemon.Unavailable(err):
		return nil, nil, "", err // the output could not be committed now, either
	case err != nil:
		fallback = words.TrimDot(err.Error())
		fields, ok := data.Extract(text)
		got = Extract(&job.H, a, job.Doc, d.Now(), fields, ok)
		got.Warnings = append([]string{"Fallback handoff used: " + fallback}, secretsWarning(&job.settings, job.Doc.Bytes)...)
		got.Context = job.settings.Secrets.Mask(data.RenderContext(job.Doc.Bytes))
	}
	now := d.Now() // the time of the assembly counts for this step
	rec = &daemon.StepRecord{
		Context: string(got.Context), Messages: got.Record.Messages, Decisions: got.Record.Decisions, References: got.Files,
	}
	sum := engine.Checksum(got.Context)
	out = &daemon.StepHandoff{
		ID: id, ContentMD: text, Metadata: (*daemon.Metadata)(got.Structured), CreatedAt: now, StepID: s.ID, AgentID: a.ID,
		Warnings: append([]string{}, got.Warnings...), ContextChecksum: &sum, ContextValidated: got.Validated,
		Metrics: daemon.StepMetrics{
			DurationMS: Milliseconds(time.Since(began)), TotalMS: daemon.Elapsed(*s.StartedAt, now).Milliseconds(), ContextSizeBytes: int64(len(got.Context)),
			MessagesTransferred: got.Rendered.Messages, DecisionsTransferred: got.Rendered.Decisions, MemoryRefsTransferred: got.Rendered.References,
		},
	}
	return out, rec, fallback, nil
}
