package scripted

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/understudyd/understudy/daemon/actor"
)

// compact is /compact: the session goes on under its id, with a summary in the place of its history.
func (a *agent) compact(ctx context.Context, instructions string) {
	a.newPromptID()
	a.status(func(e *registryEntry) { e.Status = "busy" })
	answer := a.hook(ctx, "PreCompact", "manual", fields{"trigger": "manual", "custom_instructions": instructions})
	if answer.block {
		a.screen.print(actor.BlockError, "Compaction blocked by PreCompact hook: "+answer.reason)
		return
	}
	a.summarise(ctx, "manual")
}

// autoCompact is what happens before an answer when the context window is nearly full. Measured: a
// PreCompact that blocks is not told of anywhere, and the turn goes on with the whole history.
func (a *agent) autoCompact(ctx context.Context) {
	answer := a.hook(ctx, "PreCompact", "auto", fields{"trigger": "auto", "custom_instructions": nil})
	if !answer.block {
		a.summarise(ctx, "auto")
	}
}

// summarise replaces the history with a summary, which is the part that both kinds have in common.
func (a *agent) summarise(ctx context.Context, trigger string) {
	if sleep(ctx, a.behave().duration("think", thinkTime)) != nil {
		return
	}
	before := a.transcript.used()
	summary := "The session so far: " + strings.Join(a.memory.Titles(), "; ")
	// Compaction is done by a subagent without a type, whose end is told.
	a.hook(ctx, "SubagentStop", "", a.stopFields(fields{
		"agent_id": "a" + strings.ReplaceAll(uuid.NewString(), "-", "")[:16], "agent_type": "",
		"stop_hook_active": false, "last_assistant_message": summary,
	}))
	a.sessionStart(ctx, "compact", fields{"model": a.opt.model})
	if ctx.Err() != nil {
		return
	}
	a.record("system", fields{"subtype": "compact_boundary", "content": "Conversation compacted",
		"compactMetadata": fields{"trigger": trigger, "preTokens": before, "postTokens": compactedTokens}})
	a.recordUser("This session is being continued from a previous conversation that ran out of context. "+
		"The summary below covers what was said in it.\n\n"+summary, fields{"isCompactSummary": true, "isVisibleInTranscriptOnly": true})
	a.transcript.compacted()
	a.hook(ctx, "PostCompact", trigger, fields{"trigger": trigger, "compact_summary": summary})
	a.screen.print(actor.BlockNote, "Compacted")
}
