package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
)

// record writes down all that the successor needs: the context file, and then its copy with
// everything else in one transaction. The document is good; nothing else may stop the handoff, so
// what can't be assembled is left out, and that is said.
func (r *handoffRun) record(doc data.Document) outcome {
	h := r.h
	got, err := r.assemble(doc)
	var told *Error
	switch {
	case r.ctx.Err() != nil, errors.As(err, &told) && told.Kind == KindUnavailable:
		return outcome{err: err} // nothing can be recorded now, either
	case err != nil:
		got = r.basic(doc, err)
	}
	h.Structured, h.Warnings, h.ContextValidated, h.Degraded = got.structured, got.warnings, got.validated, err != nil
	if h.Warnings == nil {
		h.Warnings = []string{}
	}
	path := data.ContextPath(h.FilePath)
	if err := data.WriteSole(path, got.context, 0o600); err != nil {
		return r.failed(CodeContextUnwritable, "The context file could not be written: %v", err)
	}
	sum := checksum(got.context)
	prompt, err := injection{
		Ref: h.Ref, AgentID: r.agent.ID, Name: r.agent.Name, Persona: h.Persona, Generation: r.agent.Generation,
		Path: h.FilePath, Context: path,
	}.text()
	if err != nil {
		return r.failed(CodePromptTooLong, "%v", err)
	}
	r.now = r.d.now() // the assembly belongs to the phase that it ends
	h.ContextPath, h.ContextChecksum, h.InjectionPrompt = &path, &sum, &prompt
	h.RecordedAt, h.Retrying, h.ContextUse = &r.now, false, r.agent.Context
	h.Metrics.DurationMS = time.Since(r.began).Milliseconds()
	h.Metrics.ContextSizeBytes = int64(len(got.context))
	h.Metrics.MessagesTransferred, h.Metrics.DecisionsTransferred = got.sent.Messages, got.sent.Decisions
	h.Metrics.MemoryRefsTransferred = got.sent.References
	c := Change{Agents: []*Agent{r.agent}, DropQueued: h.AgentID, DropEvidence: "the agent's handoff was recorded", NewRecord: &got.record}
	if opts := r.d.inherited(r.agent); r.agent.Active() && opts != nil {
		r.agent.Options = opts
	}
	c.Events = r.recordEvents(&got)
	out := moveTo(Recorded, "document verified", c)
	out.then = func() { r.logRecord(&got) }
	return out
}

// basic is the least that a successor is given: who, and where the document is.
func (r *handoffRun) basic(doc data.Document, cause error) assembled {
	got := extract(r.h, r.agent, doc, r.now)
	got.fallback = words.TrimDot(cause.Error())
	got.warnings = []string{"Fallback handoff used: " + got.fallback}
	got.context = data.RenderBasic(r.h.SourceAgent, r.h.TargetAgent, r.h.FilePath)
	got.record.Context, got.record.Progress = string(got.context), true
	return got
}

// recordEvents are the audit of what was recorded.
func (r *handoffRun) recordEvents(got *assembled) []*event.Event {
	h := r.h
	about := func(typ event.Type, payload map[string]any) *event.Event {
		return r.d.event(typ, &h.AgentID, &h.ID, payload)
	}
	events := []*event.Event{about(event.HandoffCreated, map[string]any{
		"handoff_id": h.ID, "has_structured_data": got.structured != nil, "assembly_ms": h.Metrics.DurationMS,
	})}
	if got.structured == nil {
		events = append(events, about(event.HandoffExtractionFailed, map[string]any{"handoff_id": h.ID}))
	}
	if h.Degraded {
		e := about(event.HandoffFallbackUsed, map[string]any{"handoff_id": h.ID, "message": fmt.Sprintf(
			"%s; the successor is pointed at the document alone: tell it what else it must know with `understudy agent send`.", got.warnings[0])})
		e.Alert = true
		events = append(events, e)
	}
	if got.circles(h) {
		e := about(event.AgentWithoutProgress, map[string]any{"generations": got.idle, "message": fmt.Sprintf(
			"The last %d generations of %s have filled their context without touching a file, committing or deciding anything: look at `understudy handoff show %d`.", got.idle, h.SourceAgent, h.ID)})
		e.Alert = true
		events = append(events, e)
	}
	return events
}

// logRecord logs what was recorded, once it is.
func (r *handoffRun) logRecord(got *assembled) {
	h := r.h
	if got.structured != nil {
		r.d.logHandoff(h, "handoff_extracted", slog.LevelInfo, "")
	} else {
		r.d.logHandoff(h, "handoff_extraction_failed", slog.LevelWarn, "the document has none of the headings that were asked for")
	}
	if h.Degraded {
		r.d.logHandoff(h, "handoff_fallback_used", slog.LevelWarn, got.fallback)
	}
	if r.set.LogTiming {
		r.d.Log.Info("context assembled", append([]any{"handoff_id", h.ID, "duration_ms", h.Metrics.DurationMS}, got.parts...)...)
	}
}

// inherited reads the flags that a running agent was started with and that its successor gets;
// nil if they are known already or can't be read.
func (d *Daemon) inherited(a *Agent) []string {
	if a.Managed || a.PID == 0 || len(a.Options) > 0 {
		return nil
	}
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(a.PID), "cmdline"))
	if err != nil || !d.lives(a.Process()) {
		return nil
	}
	argv := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	return runtimes.InheritOptions(argv)
}

func checksum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
