package handoffs

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/daemon/transcript"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
)

// logHandoff logs a moment of a handoff. Scripts look for these lines, so the keys are always the same.
func (d *Flow) logHandoff(h *daemon.Handoff, moment string, level slog.Level, trouble string) {
	took := h.Metrics.DurationMS // of the assembly, which is all that there is to tell until the handoff has ended
	if !h.Open() {
		took = float64(h.Metrics.TotalMS)
	}
	d.Log.Log(context.Background(), level, moment, "handoff_id", h.ID, "source_agent", h.SourceAgent, "target_agent", h.TargetAgent,
		"duration_ms", took, "assembly_ms", h.Metrics.DurationMS, "context_size", h.Metrics.ContextSizeBytes,
		"messages_transferred", h.Metrics.MessagesTransferred, "decisions_transferred", h.Metrics.DecisionsTransferred,
		"context_validated", h.ContextValidated, "error", trouble)
}

// keepEffort notes the thinking level with which the agent worked last, so that its successor begins with it.
func keepEffort(r *handoffRun, level string) {
	if slices.Contains(r.d.RuntimeOf(r.agent).Can.Efforts, level) {
		r.agent.Effort = level
	}
}

// basicContext returns the context that is used if the assembly failed with cause. It names the two agents and points to
// the document.
func basicContext(r *handoffRun, doc data.Document, cause error) assembled {
	fields, ok := data.Extract(string(doc.Bytes))
	got := Extract(r.h, r.agent, doc, r.now, fields, ok)
	got.fallback = words.TrimDot(cause.Error())
	got.Warnings = slices.Concat([]string{"Fallback handoff used: " + got.fallback}, r.d.Accounts.HandoffWarnings(r.d.Sight, r.agent, r.h.Heirs), sight.BackgroundWarnings(r.agent, r.h.Keep), secretsWarning(&r.settings, doc.Bytes))
	got.Context = data.RenderBasic(r.h.SourceAgent, r.h.TargetAgent, r.h.FilePath)
	got.Record.Context, got.Record.Progress = string(got.Context), true
	return got
}

// recordEvents makes the events of a record.
func recordEvents(r *handoffRun, got *assembled) []*event.Event {
	h := r.h
	about := func(typ event.Type, payload map[string]any) *event.Event {
		return r.d.Event(typ, &h.AgentID, &h.ID, payload)
	}
	events := []*event.Event{about(event.HandoffCreated, map[string]any{
		"handoff_id": h.ID, "has_structured_data": got.Structured != nil, "assembly_ms": h.Metrics.DurationMS,
	})}
	if got.Structured == nil {
		events = append(events, about(event.HandoffExtractionFailed, map[string]any{"handoff_id": h.ID}))
	}
	if h.Degraded {
		e := about(event.HandoffFallbackUsed, map[string]any{"handoff_id": h.ID, "message": fmt.Sprintf(
			"%s; the successor is given the document alone: tell it what else it must know with `understudy agent send`.", got.Warnings[0])})
		e.Alert = true
		events = append(events, e)
	}
	if got.goesInCircles(h) {
		e := about(event.AgentWithoutProgress, map[string]any{"generations": got.idleGenerations, "message": fmt.Sprintf(
			"The last %d generations of %s have filled their context without touching a file, committing or deciding anything: look at `understudy handoff show %d`.", got.idleGenerations, h.SourceAgent, h.ID)})
		e.Alert = true
		events = append(events, e)
	}
	return events
}

// logRecord logs the record after its commit.
func logRecord(r *handoffRun, got *assembled) {
	h := r.h
	if got.Structured != nil {
		r.d.logHandoff(h, "handoff_extracted", slog.LevelInfo, "")
	} else {
		r.d.logHandoff(h, "handoff_extraction_failed", slog.LevelWarn, "the document has none of the headings that were asked for")
	}
	if h.Degraded {
		r.d.logHandoff(h, "handoff_fallback_used", slog.LevelWarn, got.fallback)
	}
	if r.settings.LogTiming {
		r.d.Log.Info("context assembled", append([]any{"handoff_id", h.ID, "duration_ms", h.Metrics.DurationMS}, got.parts...)...)
	}
}

// inheritedOptions reads, from the command line of an agent that a person started, the flags that its successor gets.
// It returns nil if they are on the row already or can't be read.
func (d *Flow) inheritedOptions(a *daemon.Agent) []string {
	if a.Managed || a.PID == 0 || len(a.Options) > 0 {
		return nil
	}
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(a.PID), "cmdline"))
	if err != nil || !d.Lives(a.Process()) {
		return nil
	}
	argv := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	return claude.InheritOptions(argv)
}

// Milliseconds returns a duration in milliseconds, to the microsecond.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// measureAtRecord reads the use of an agent's context once more when its handoff is recorded. measure may still wait for a status line
// then, and what it has read is older than the document. If nothing can be read, the last numbers stay.
func measureAtRecord(d *Flow, c *daemon.Change, a *daemon.Agent, at time.Time) {
	if !a.Measured() {
		return
	}
	used, window, ok, err := transcript.Use(d.RuntimeOf(a), *a.TranscriptPath)
	if err != nil || !ok {
		return
	}
	limit := engine.Sized(window)
	if limit == nil && a.Context != nil {
		limit = a.Context.Limit
	}
	if a.Context == nil || a.Context.Tokens != used {
		d.FactsFor(a).UseContext(c, a, daemon.ContextUse{Tokens: used, Limit: limit, Source: daemon.FromTranscript}, at)
	}
}
