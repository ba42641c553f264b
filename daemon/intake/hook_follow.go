package intake

import (
	"cmp"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
)

// A session may move to another directory: Claude Code's by EnterWorktree, ExitWorktree and /cd. It takes its transcript
// along. The agent's row follows what the hooks of that very session say, so that its successor begins where the work is.

// follow notes where the session and its transcript are, if the hook is one of the agent's own session. A sub-agent may work
// in a directory of its own. was is the transcript before the hook; nil: none was known.
func (h *hookStep) follow(was *string) {
	a := h.tx.Agent
	if h.p.AgentID != "" || a.SessionID == nil || a.TranscriptPath == nil || h.p.SessionID != *a.SessionID || h.p.TranscriptPath == "" {
		return
	}
	rt, before := h.RuntimeOf(a), *cmp.Or(was, a.TranscriptPath)
	late := a.EndHint != "" && h.p.Event != hooks.SessionEnd // a SessionEnd that overtook the hook has told where the transcript is now
	moves := rt.TranscriptMoved(before, h.p.TranscriptPath, h.p.SessionID)
	if moves && !late {
		a.SetSession(hooks.Payload{TranscriptPath: h.p.TranscriptPath})
	}
	if !moves && *a.TranscriptPath != h.p.TranscriptPath || goesBack(&h.p) {
		return
	}
	m := engine.Move{From: a.Cwd, To: rt.SessionDir(h.p.CWD, h.p.TranscriptPath, before, h.beginsSession())}
	if late && m.To == "" {
		m.To = endedIn(rt, a, &h.p)
	}
	if m.To == "" || m.To == m.From {
		return
	}
	if h.Ask(engine.Question{Move: m}).Yes {
		a.MoveTo(m.To)
		h.moved = true
		h.event(event.AgentMoved, map[string]any{"from": m.From, "to": m.To}, a)
	}
}

// goesBack reports whether a hook tells where the transcript is, but not where the work is: before the SessionEnd of an /exit Claude Code
// has taken the session and its transcript back to where it began. A session that a signal ends stays where it works, and its SessionEnd
// may be the first hook to tell of a move, or overtake the one that does (measured with 2.1.330).
func goesBack(p *hooks.Payload) bool { return p.Event == hooks.SessionEnd && p.Reason != "other" }

// endedIn returns where a session worked at last whose SessionEnd overtook the hook of its last turn's end; "": the hook does not tell. The
// SessionEnd has taken the transcript back to where the session began. If the last turn had moved there, the folder of the transcript is the
// same in both hooks, but it is not that of the row's directory. A session that was opened again in a work tree has the transcript elsewhere
// at any time: its directory is between the folder's and the shell's.
func endedIn(rt *runtimes.Runtime, a *daemon.Agent, p *hooks.Payload) string {
	dir := rt.SessionDir(p.CWD, p.TranscriptPath, "", false)
	lastTurn := (p.Event == "Stop" || p.Event == "StopFailure") && (p.PromptID == "" || p.PromptID == a.TurnPromptID)
	between := agents.Within(a.Cwd, dir) && agents.Within(p.CWD, a.Cwd)
	if dir == "" || !lastTurn || between || rt.TranscriptIn(dir, p.TranscriptPath) != p.TranscriptPath || rt.TranscriptIn(a.Cwd, p.TranscriptPath) == p.TranscriptPath {
		return ""
	}
	return dir
}

// beginsSession reports whether the runtime's session begins with the hook, or is opened again. Its shell has gone nowhere yet.
func (h *hookStep) beginsSession() bool {
	return h.p.Event == hooks.SessionStart && (h.p.Source == "startup" || h.p.Source == "resume")
}

// ofCopy reports whether a SessionStart is that of a copy of the agent's session, such as the one that goes on in the
// background. While it has no transcript, nobody can resume it.
func (h *hookStep) ofCopy() bool {
	a := h.tx.Agent
	return h.p.Source == "fork" && a.RegisteredAt != nil && a.SessionID != nil && h.p.SessionID != "" && *a.SessionID != h.p.SessionID
}

// followCopy makes the session that has ended a turn the agent's session: the turn is in its transcript. The registry tells
// the same, but only while the process lives, and this hook may come out of the spool.
func (h *hookStep) followCopy() {
	a := h.tx.Agent
	if h.RuntimeOf(a).Registry == nil || h.in.PID == 0 || h.in.PID != a.PID || h.p.SessionID == "" || h.p.TranscriptPath == "" ||
		a.SessionID == nil || *a.SessionID == h.p.SessionID {
		return
	}
	a.SetSession(h.p)
	h.event(event.AgentSessionChanged, map[string]any{"session_id": h.p.SessionID, "source": "background"}, a)
}

// noteTranscript has the usage of a new transcript counted, also if the agent has left it before it was read. was is the
// transcript before the hook.
func (h *hookStep) noteTranscript(was *string) {
	a := h.tx.Agent
	if a.TranscriptPath == nil || was != nil && *was == *a.TranscriptPath || h.RuntimeOf(a).Can.Tokens == "" {
		return
	}
	h.out.Change.UsageReads = append(h.out.Change.UsageReads, a.UsageIn(*a.TranscriptPath))
}

// contextReported notes the use of the context window that a hook tells.
func (h *hookStep) contextReported() {
	use := h.p.Context
	if use.Tokens < 0 || use.Limit <= 0 {
		return
	}
	h.UseContext(&h.out.Change, h.tx.Agent, daemon.ContextUse{Tokens: use.Tokens, Limit: &use.Limit, Source: daemon.FromHook}, h.in.At)
}
