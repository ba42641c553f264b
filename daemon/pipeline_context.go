package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
)

// StepMetrics are the measured times (in milliseconds) and sizes of what a step passes on.
type StepMetrics struct {
	DurationMS            float64 `json:"duration_ms"` // the assembly of the context
	TotalMS               int64   `json:"total_ms"`    // the step
	ContextSizeBytes      int64   `json:"context_size_bytes"`
	MessagesTransferred   int     `json:"messages_transferred"`
	DecisionsTransferred  int     `json:"decisions_transferred"`
	MemoryRefsTransferred int     `json:"memory_refs_transferred"`
}

// StepRecord is the large part of what a step passes on. It is stored with the step's output.
type StepRecord struct {
	Context    string           `json:"context"`    // the content of the context file; "": an older version recorded the output
	Messages   []data.Message   `json:"messages"`   // of the sessions of this step, the oldest first
	Decisions  []data.Decision  `json:"decisions"`  // of this output only
	References []data.Reference `json:"references"` // the files that the agents of this step and of those before it touched
}

// nextStep returns the step that begins after s; nil: s is the last one.
func (p *Pipeline) nextStep(s *Step) *Step {
	for i := s.OrderIndex + 1; i < len(p.Steps); i++ {
		if p.Steps[i].Status != StepSkipped {
			return &p.Steps[i]
		}
	}
	return nil
}

// who returns the persona that plays a step, or the role for which no persona was found yet.
func (s *Step) who() string {
	if s.Persona != nil {
		return *s.Persona
	}
	return s.AgentName
}

// furtherStepHeadings returns the headings that the output of a step should have in addition to the four standard ones,
// because the role of a step that may come next requires them, or its rules read them.
func (d *Daemon) furtherStepHeadings(p *Pipeline, s *Step) []string {
	var roles, further []string
	if next := p.nextStep(s); next != nil {
		roles = append(roles, roleOf(next.who()))
	}
	for _, rule := range s.Next {
		if to := p.newestOf(rule.Goto); to != nil {
			roles = append(roles, roleOf(to.who()))
		}
		if !slices.Contains(further, rule.When.Heading) && !data.Standard(rule.When.Heading) {
			further = append(further, rule.When.Heading)
		}
	}
	for _, title := range d.headingsFor(roles) {
		if !slices.ContainsFunc(further, func(h string) bool { return data.SameHeading(h, title) }) {
			further = append(further, title)
		}
	}
	return further
}

// newStepAssembly begins the assembly of what a step passes on. For the assembly, the output is a handoff's document and the
// next step's persona its heir.
func (r *pipelineRun) newStepAssembly(s *Step, a *Agent, text string) *assembly {
	out := &assembly{
		d: r.d, agent: *a, doc: data.Document{Bytes: []byte(text)}, settings: r.d.Settings().Handoff, lapBegan: time.Now(), step: s,
		h: Handoff{AgentID: a.ID, Persona: s.who(), SourceAgent: s.AgentName},
	}
	rule, _ := s.decide(text) // if a person must decide, the following step is the likeliest
	if next := r.p.after(s, edgeOf(rule)); next != nil {
		out.h.Heirs = []HandoffHeir{{Heir: Heir{Persona: next.who()}}}
	} else {
		out.settings.ValidateContext = false // nobody takes over
	}
	return out
}

// assembleOutput makes the output of a step from the agent's final message, with all that the step passes on. fallback says
// why the next step gets that message alone; "": it gets all.
func (r *pipelineRun) assembleOutput(s *Step, a *Agent, id int64, text string) (out *StepHandoff, rec *StepRecord, fallback string, err error) {
	began := time.Now()
	job := r.newStepAssembly(s, a, text)
	got, err := r.d.assemble(r.ctx, job)
	switch {
	case r.ctx.Err() != nil, unavailable(err):
		return nil, nil, "", err // the output could not be committed now, either
	case err != nil:
		fallback = words.TrimDot(err.Error())
		fields, ok := data.Extract(text)
		got = extract(&job.h, a, job.doc, r.now, fields, ok)
		got.warnings = []string{"Fallback handoff used: " + fallback}
		got.context = data.RenderContext(job.doc.Bytes)
	}
	r.now = r.d.now() // the time of the assembly counts for this step
	rec = &StepRecord{
		Context: string(got.context), Messages: got.record.Messages, Decisions: got.record.Decisions, References: got.files,
	}
	sum := checksum(got.context)
	out = &StepHandoff{
		ID: id, ContentMD: text, Metadata: (*Metadata)(got.structured), CreatedAt: r.now, StepID: s.ID, AgentID: a.ID,
		Warnings: append([]string{}, got.warnings...), ContextChecksum: &sum, ContextValidated: got.validated,
		Metrics: StepMetrics{
			DurationMS: milliseconds(time.Since(began)), TotalMS: elapsed(*s.StartedAt, r.now).Milliseconds(), ContextSizeBytes: int64(len(got.context)),
			MessagesTransferred: got.rendered.Messages, DecisionsTransferred: got.rendered.Decisions, MemoryRefsTransferred: got.rendered.References,
		},
	}
	return out, rec, fallback, nil
}

// milliseconds returns a duration in milliseconds, to the microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// outputEvents makes the events of an output, and warns on the pipeline if the next step does not get all that it should.
func (r *pipelineRun) outputEvents(s *Step, out *StepHandoff, fallback string) []*event.Event {
	who := fmt.Sprintf("Step %d (%s)", s.OrderIndex+1, s.AgentName)
	about := func(more map[string]any) map[string]any {
		more["step_handoff_id"], more["handoff_id"] = out.ID, out.ID
		return more
	}
	events := []*event.Event{r.event(event.HandoffCreated, s, about(map[string]any{
		"bytes": len(out.ContentMD), "has_structured_data": out.Metadata != nil, "assembly_ms": out.Metrics.DurationMS,
		"message": fmt.Sprintf("%s of pipeline %d has left %s for the next one.", who, r.p.ID, words.Count(len(out.ContentMD), "byte")),
	}))}
	if out.ContentMD == "" {
		r.p.Warnings = append(r.p.Warnings, who+" left nothing: its agent ended its turn without a message.")
		e := r.event(event.StepOutputEmpty, s, map[string]any{"message": fmt.Sprintf(
			"%s of pipeline %d left nothing for the next one: see what it did with `understudy agent show %d`.", who, r.p.ID, out.AgentID)})
		e.Alert = true
		events = append(events, e)
	} else if out.Metadata == nil {
		r.p.Warnings = append(r.p.Warnings, who+noHeadings)
	}
	if out.Metadata != nil {
		events = append(events, r.event(event.HandoffExtracted, s, about(map[string]any{
			"message": fmt.Sprintf("%s of pipeline %d has left the fields that were asked for.", who, r.p.ID),
		})))
	} else {
		events = append(events, r.event(event.HandoffExtractionFailed, s, about(map[string]any{
			"message": fmt.Sprintf("%s of pipeline %d has left no fields that could be read; see `understudy pipeline show %[2]d --step %d`.", who, r.p.ID, s.OrderIndex+1),
		})))
	}
	if fallback != "" {
		r.p.Warnings = append(r.p.Warnings, fmt.Sprintf("%s passes on its final message alone: %s.", who, fallback))
		e := r.event(event.HandoffFallbackUsed, s, about(map[string]any{"message": fmt.Sprintf(
			"%s of pipeline %d passes on its final message alone: %s; tell the next agent what else it must know with `understudy agent send`.", who, r.p.ID, fallback)}))
		e.Alert = true
		events = append(events, e)
	}
	return events
}

// noHeadings ends the warning that the fields of a step's output could not be read.
const noHeadings = " left none of the four headings: its final message is passed on as it is."

// logOutput logs an output after its commit. Scripts look for these lines, as for those of [Daemon.logHandoff].
func (r *pipelineRun) logOutput(out *StepHandoff) {
	moment, level, trouble := "handoff_extracted", slog.LevelInfo, ""
	if out.Metadata == nil {
		moment, level, trouble = "handoff_extraction_failed", slog.LevelWarn, "the output has none of the headings that were asked for"
	}
	r.d.Log.Log(context.Background(), level, moment, "pipeline_id", r.p.ID, "step_id", out.StepID, "agent_id", out.AgentID,
		"duration_ms", out.Metrics.DurationMS, "context_size", out.Metrics.ContextSizeBytes,
		"messages_transferred", out.Metrics.MessagesTransferred, "decisions_transferred", out.Metrics.DecisionsTransferred,
		"context_validated", out.ContextValidated, "error", trouble)
}

// stepRecords returns what the steps before an agent's step have left, as records, the newest first. Their messages are
// read only with messages.
func (d *Daemon) stepRecords(ctx context.Context, a *Agent, messages bool) (records []Record, err error) {
	p, s, err := d.stepOf(ctx, a)
	if err != nil || s == nil {
		return nil, err
	}
	for i := s.OrderIndex - 1; i >= 0; i-- {
		left := p.Steps[i].LatestHandoff
		if left == nil {
			continue
		}
		name := p.Steps[i].AgentName
		rec := Record{AgentID: left.AgentID, Agent: name, Persona: p.Steps[i].who(), At: left.CreatedAt}
		if left.Metadata != nil && left.Metadata.DecisionsMade != nil {
			rec.Decisions = data.ParseDecisions(*left.Metadata.DecisionsMade, name, left.CreatedAt)
		}
		if messages {
			large, err := d.Store.StepRecord(ctx, left.ID)
			if err != nil && !errors.Is(err, ErrNotFound) {
				return nil, fmt.Errorf("output %d: %w", left.ID, err)
			}
			rec.Messages, rec.References = large.Messages, large.References
		}
		records = append(records, rec)
	}
	return records, nil
}

// priorContext returns the content of the context file for the agents of a step; "": no step before it has left one.
func (d *Daemon) priorContext(ctx context.Context, p *Pipeline, s *Step) (string, error) {
	prev := p.before(s)
	if prev == nil {
		return "", nil
	}
	rec, err := d.Store.StepRecord(ctx, prev.LatestHandoff.ID)
	if errors.Is(err, ErrNotFound) { // an older version recorded the output
		return "", nil
	}
	return rec.Context, err
}

// headingsFor returns the headings that roles require, each once.
func (d *Daemon) headingsFor(roles []string) (titles []string) {
	if !d.Settings().Handoff.ValidateContext {
		return nil
	}
	req, _ := data.ReadRequirements(d.Data.Requirements()) // after an error req holds the shipped ones; validate warns about it
	for _, role := range roles {
		for _, name := range req.Of(role) {
			if title := data.HeadingTitle(name); !slices.Contains(titles, title) {
				titles = append(titles, title)
			}
		}
	}
	return titles
}
