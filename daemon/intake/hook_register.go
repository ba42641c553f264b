package intake

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
)

// register makes an agent for the session that sent the hook. It does so only if a person started the session, the hook is a
// SessionStart or a UserPromptSubmit, and nothing speaks against its process (notBinding). Otherwise it notes the reason.
func (h *hookStep) register() {
	switch {
	case h.in.LaunchHash != nil:
		h.out.Reason = "no agent has its launch secret"
		return
	case h.proc.PID == 0:
		h.out.Reason = "it comes from no known agent, and its process is gone or unnamed"
		return
	case h.around != 0:
		h.out.Reason = fmt.Sprintf("it runs inside agent %d", h.around)
		return
	case h.p.Event == "SessionStart" && (h.p.Source == "fork" || h.p.AgentType != ""):
		h.out.Reason = "it may be a copy or a spare session in the background, which registers with its first prompt"
		return
	case h.p.Event != "SessionStart" && h.p.Event != "UserPromptSubmit":
		h.out.Reason = "it comes from no known agent"
		return
	case h.notBinding != "":
		h.out.Reason, h.disbelieved = h.notBinding, h.notBinding
		return
	}
	now, rt := h.Now, claude.Runtime
	a := &daemon.Agent{
		ID: h.tx.NewAgentID, Name: sessionName(h.p), Runtime: rt.Name, Host: h.in.Host,
		State: daemon.Idle, StateAt: now, Generation: 1, CreatedAt: now, RegisteredAt: &now, LastHook: h.tx.HookID, Account: h.account,
		AgentPane:    daemon.AgentPane{PID: h.proc.PID, PIDStart: h.proc.Start, TmuxSession: fmt.Sprintf("foreign-%d", h.tx.NewAgentID)},
		AgentSession: daemon.AgentSession{Cwd: cmp.Or(rt.SessionDir(h.p.CWD, h.p.TranscriptPath, "", h.beginsSession()), h.p.CWD)},
	}
	if h.pane != nil {
		a.SetPane(h.pane)
	} else if h.noPane != "" {
		a.HoldBy(daemon.Hold{Kind: daemon.HoldNoPane, HoldDetail: daemon.HoldDetail{Says: words.FirstLine(h.noPane, 300)}}, now)
	}
	a.SetSession(h.p)
	if h.p.Event == "UserPromptSubmit" && !h.command {
		a.State = daemon.Working
		a.BeginTurn(turnID(h.p), false)
		a.TakeWork(h.tx.HookID, h.in.At, h.p.Prompt)
	}
	h.out.Applied = true
	h.out.Change.NewAgent = a
	h.event(event.AgentRegistered, map[string]any{"by": "hook", "pane": a.Pane, "session_id": a.SessionID}, a)
}

// sessionName returns the name of an agent that registers by itself. It does not use a title that would be refused as the
// name of a new agent, because the agent's successor gets the same name.
func sessionName(p hooks.Payload) string {
	for _, name := range []string{p.SessionTitle, filepath.Base(p.CWD)} {
		if name = strings.TrimSpace(name); name != "" && daemon.CheckLine("name", name, agents.MaxName) == nil {
			return name
		}
	}
	return "agent"
}
