package intake

import (
	"context"
	"fmt"
	"strings"

	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
)

// handoffCommand parses a prompt as the command /handoff [FOCUS]. ok says whether the prompt is that command.
func handoffCommand(prompt string) (focus string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(prompt), "/handoff")
	if !ok || rest != "" && !strings.ContainsAny(rest[:1], " \t\n") {
		return "", false
	}
	return strings.TrimSpace(strings.ReplaceAll(rest, "\r\n", "\n")), true
}

// isCommand reports whether a hook is a person's /handoff. The daemon answers that command itself, so that no turn begins. A
// hook from the spool does not count: nobody answered it, so the runtime has taken its prompt. A /handoff that understudy
// did not make does not count either: it is left to the runtime. launched says that the launch of the session may have brought one.
func (d *Daemon) isCommand(ctx context.Context, p hooks.Payload, launched, replayed bool) bool {
	if _, ok := handoffCommand(p.Prompt); !ok || p.Event != hooks.UserPromptSubmit || replayed {
		return false
	}
	return d.LookAt(ctx, p.CWD, func() bool {
		whose := agents.SlashAt(runtimes.ConfigDirOfTranscript(p.TranscriptPath), p.CWD)
		return whose == agents.SlashInstalled || whose == agents.SlashNone && launched
	})
}

// compacting applies a PreCompact: the runtime is about to compact its context by itself, and loses knowledge that a handoff
// would keep. compacting alerts the operator. If automatic handoffs are on, it refuses the compaction, once for each agent,
// and the daemon hands the agent over at the end of its turn.
func (h *hookStep) compacting() {
	a := h.tx.Agent
	if h.p.Trigger != "auto" || a.Persona == nil {
		return
	}
	auto := h.AutoFor(a).Enabled
	next := fmt.Sprintf("hand it over with `understudy handoff %d` if what it knows must not be lost", a.ID)
	coming := a.AutoAskedAt == nil || h.tx.Handoff != nil // a handoff is open, or the daemon will request its only one
	switch {
	case auto && coming && a.CompactHook == 0 && a.StopAskedAt == nil && !h.in.Replayed:
		a.CompactHook = h.tx.HookID
		h.out.Output = event.JSON(map[string]string{"decision": "block", "reason": "understudy hands this work to a successor instead"})
		next = fmt.Sprintf("it is handed over at the end of its turn instead, see `understudy agent show %d`", a.ID)
	case h.tx.Handoff != nil:
		next = fmt.Sprintf("its handoff %d goes on, see with `understudy handoff show %[1]d` that its document has all of it", h.tx.Handoff.ID)
	}
	h.event(event.AgentCompacting, map[string]any{"refused": h.out.Output != nil, "message": fmt.Sprintf(
		"Agent %d (%s) is about to compact its context; %s.", a.ID, a.Name, next)}, a)
	h.out.Change.Events[len(h.out.Change.Events)-1].Alert = true
}
