package pipelines

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/words"
)

// outputEvents makes the events of an output, and warns on the pipeline if the next step does not get all that it should.
func (r *pipelineRun) outputEvents(s *daemon.Step, out *daemon.StepHandoff, fallback string) []*event.Event {
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
		r.p.Warnings = append(r.p.Warnings, who+handoffs.NoHeadings)
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

// logOutput logs an output after its commit. Scripts look for these lines, as for those of [Room.logHandoff].
func (r *pipelineRun) logOutput(out *daemon.StepHandoff) {
	moment, level, trouble := "handoff_extracted", slog.LevelInfo, ""
	if out.Metadata == nil {
		moment, level, trouble = "handoff_extraction_failed", slog.LevelWarn, "the output has none of the headings that were asked for"
	}
	r.room.env.Log.Log(context.Background(), level, moment, "pipeline_id", r.p.ID, "step_id", out.StepID, "agent_id", out.AgentID,
		"duration_ms", out.Metrics.DurationMS, "context_size", out.Metrics.ContextSizeBytes,
		"messages_transferred", out.Metrics.MessagesTransferred, "decisions_transferred", out.Metrics.DecisionsTransferred,
		"context_validated", out.ContextValidated, "error", trouble)
}
