package scripted

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/understudyd/understudy/daemon/actor"
)

// compact handles /compact. The session keeps its id, and a summary replaces its history.
func compact(ctx context.Context, a *Agent, instructions string) {
	a.newPromptID()
	a.status(func(e *registryEntry) { e.Status = "busy" })
	answer := a.hook(ctx, "PreCompact", "manual", a.hooks().PreCompact("manual", instructions))
	if answer.block {
		a.screen.print(actor.BlockError, "Compaction blocked by PreCompact hook: "+answer.reason)
		return
	}
	summarise(ctx, a, "manual")
}

// AutoCompact compacts the session as Claude Code does before an answer when the context window is nearly full.
// Measured: if a PreCompact hook blocks, neither screen nor transcript mentions it, and the turn goes on with the
// whole history.
func (a *Agent) AutoCompact(ctx context.Context) {
	answer := a.hook(ctx, "PreCompact", "auto", a.hooks().PreCompact("auto", ""))
	if !answer.block {
		summarise(ctx, a, "auto")
	}
}

// summarise replaces the history with a summary.
func summarise(ctx context.Context, a *Agent, trigger string) {
	if sleep(ctx, ThinkTime) != nil {
		return
	}
	before := a.transcript.used()
	summary := "The session so far: " + strings.Join(a.Memory.Titles(), "; ")
	// A subagent without a type makes the summary, and a hook reports its end.
	session, _ := a.ids()
	id := "a" + strings.ReplaceAll(uuid.NewString(), "-", "")[:16]
	its := filepath.Join(strings.TrimSuffix(transcriptPath(a, session), ".jsonl"), "subagents", "agent-"+id+".jsonl")
	a.hook(ctx, "SubagentStop", "", a.hooks().SubagentStop(id, its, summary, a.tasks()))
	a.sessionStart(ctx, a.hooks().SessionStart("compact", 0))
	if ctx.Err() != nil {
		return
	}
	a.record("system", fields{"subtype": "compact_boundary", "content": "Conversation compacted",
		"compactMetadata": fields{"trigger": trigger, "preTokens": before, "postTokens": compactedTokens}})
	a.recordUser("This session is being continued from a previous conversation that ran out of context. "+
		"The summary below covers what was said in it.\n\n"+summary, fields{"isCompactSummary": true, "isVisibleInTranscriptOnly": true})
	a.transcript.compacted()
	a.hook(ctx, "PostCompact", trigger, a.hooks().PostCompact(trigger, summary))
	a.screen.print(actor.BlockNote, "Compacted")
}
