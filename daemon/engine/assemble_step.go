package engine

import (
	"context"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
)

// newStepAssembly begins the assembly of what a step passes on. For the assembly, the output is a handoff's document, and whoever plays the
// next step its heir; "": nobody does.
func newStepAssembly(d *Flow, s *daemon.Step, a *daemon.Agent, text, heir string) *assembly {
	out := &assembly{
		d: d, agent: *a, doc: data.Document{Bytes: []byte(text)}, settings: d.Settings().Handoff, lapBegan: time.Now(), step: s,
		h: daemon.Handoff{AgentID: a.ID, Persona: s.Who(), SourceAgent: s.AgentName},
	}
	if heir != "" {
		out.h.Heirs = []daemon.HandoffHeir{{Heir: daemon.Heir{Persona: heir}}}
	} else {
		out.settings.ValidateContext = false // nobody takes over
	}
	return out
}

// AssembleStep makes the output of a step from its agent's final message, with all that the step passes on. heir is who plays the next step;
// "": nobody does. fallback says why the next step gets the message alone; "": it gets all.
func (w EnvWork) AssembleStep(ctx context.Context, s *daemon.Step, a *daemon.Agent, id int64, text, heir string) (out *daemon.StepHandoff, rec *daemon.StepRecord, fallback string, err error) {
	began := time.Now()
	job := newStepAssembly(w.d.Flow, s, a, text, heir)
	got, err := w.d.assemble(ctx, job)
	switch {
	case ctx.Err() != nil, daemon.Unavailable(err):
		return nil, nil, "", err // the output could not be committed now, either
	case err != nil:
		fallback = words.TrimDot(err.Error())
		fields, ok := data.Extract(text)
		got = extract(&job.h, a, job.doc, w.d.now(), fields, ok)
		got.warnings = []string{"Fallback handoff used: " + fallback}
		got.context = data.RenderContext(job.doc.Bytes)
	}
	now := w.d.now() // the time of the assembly counts for this step
	rec = &daemon.StepRecord{
		Context: string(got.context), Messages: got.record.Messages, Decisions: got.record.Decisions, References: got.files,
	}
	sum := checksum(got.context)
	out = &daemon.StepHandoff{
		ID: id, ContentMD: text, Metadata: (*daemon.Metadata)(got.structured), CreatedAt: now, StepID: s.ID, AgentID: a.ID,
		Warnings: append([]string{}, got.warnings...), ContextChecksum: &sum, ContextValidated: got.validated,
		Metrics: daemon.StepMetrics{
			DurationMS: milliseconds(time.Since(began)), TotalMS: daemon.Elapsed(*s.StartedAt, now).Milliseconds(), ContextSizeBytes: int64(len(got.context)),
			MessagesTransferred: got.rendered.Messages, DecisionsTransferred: got.rendered.Decisions, MemoryRefsTransferred: got.rendered.References,
		},
	}
	return out, rec, fallback, nil
}
