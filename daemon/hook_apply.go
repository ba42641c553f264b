package daemon

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// hookStep decides what follows from one hook, inside its transaction. Rows are locked meanwhile, so that it looks at no
// file and asks nobody: it decides by its fields.
type hookStep struct {
	d  *Daemon
	in HookInput
	p  hooks.Payload
	tx HookTx
	claim
	pane    *tmux.PaneInfo  // the pane that the hook names, verified; nil: it names none, or a wrong one
	noPane  string          // what is wrong with the pane that the hook names; "": nothing
	around  int64           // the active agent inside whose process the hook's process runs; 0: none
	command bool            // the hook is a person's /handoff
	files   map[string]bool // by path, whether a file had content when somebody looked before the transaction
	unseen  string          // a path that decide needs to know of and that is not in files; "": none

	out         HookDecision
	disbelieved string // why the hook was not believed, for the operator; "": it was
}

// decide returns what is committed with the hook, and what its command prints.
func (h *hookStep) decide() HookDecision {
	if h.tx.Again {
		h.answerLost()
		return h.out
	}
	if h.tx.Agent == nil {
		h.register()
		return h.out
	}
	if why := h.foreign(); why != "" {
		h.out.Reason = why
		return h.out
	}
	if h.d.isTwin(h.tx.Agent.ID, &h.in) {
		h.out.Reason = "another run of its command has told the same"
		return h.out
	}
	h.out.Applied = true
	a := h.tx.Agent
	a.LastHook = h.tx.HookID
	h.out.Change.Agents = []*Agent{a}
	if h.pane != nil && !a.HasPane() && !a.Managed {
		a.setPane(h.pane)
		if strings.HasPrefix(a.Note, noPane) {
			a.Note = ""
		}
	}
	if !a.Active() {
		h.afterEnd()
		return h.out
	}
	h.apply()
	return h.out
}

// afterEnd applies a hook that came after its agent's end was committed.
func (h *hookStep) afterEnd() {
	a := h.tx.Agent
	switch {
	case h.p.Event == "SessionEnd" && a.EndHint == "":
		a.EndHint = h.p.Reason
	case h.p.Event == "Stop" && !a.HandingOver: // its pipeline can still take the output of its last turn
		a.endTurn(h.tx.HookID, h.p.BackgroundTasks, true)
	}
}

// answerLost handles a hook that comes from the spool although it is stored: its sender never got the whole answer. If the
// answer was an instruction, the agent never saw it, and the delivery is queued again.
func (h *hookStep) answerLost() {
	h.out.Reason = "stored already"
	if !h.in.Replayed {
		return
	}
	for _, dl := range h.tx.Deliveries {
		if dl.State == DeliveryAnswered && dl.HookKey == h.in.Key {
			dl.State, dl.HookKey, dl.TypedAt, dl.Attempts = DeliveryQueued, "", nil, 0
			dl.Evidence = "the answer to the stop hook did not arrive"
			h.out.Change.Deliveries = append(h.out.Change.Deliveries, dl)
			if a := h.tx.Agent; a != nil && a.Active() && a.State == Working {
				h.setState(Idle)
				a.loseInstruction()
				h.out.Change.Agents = []*Agent{a}
			}
		}
	}
}

// noPane begins the note of an agent that named a pane which could not be verified.
const noPane = "it has no pane: "

// register makes an agent of the session that sent the hook, if a person started it and the hook was believed.
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
	case h.p.Event != "SessionStart" && h.p.Event != "UserPromptSubmit":
		h.out.Reason = "it comes from no known agent"
		return
	case h.notBinding != "":
		h.out.Reason, h.disbelieved = h.notBinding, h.notBinding
		return
	}
	now := h.d.now()
	a := &Agent{
		ID: h.tx.NewAgentID, Name: sessionName(h.p), Runtime: "claude", Host: h.in.Host,
		State: Idle, StateAt: now, Cwd: h.p.CWD, Generation: 1, CreatedAt: now, RegisteredAt: &now,
		PID: h.proc.PID, PIDStart: h.proc.Start, LastHook: h.tx.HookID,
		TmuxSession: fmt.Sprintf("foreign-%d", h.tx.NewAgentID),
	}
	if h.pane != nil {
		a.setPane(h.pane)
	} else if h.noPane != "" {
		a.Note = noPane + words.FirstLine(h.noPane, 300)
	}
	a.setSession(h.p)
	if h.p.Event == "UserPromptSubmit" && !h.command {
		a.State = Working
		a.beginTurn(turnID(h.p), false)
		a.takeWork(h.tx.HookID, h.in.At)
	}
	h.out.Applied = true
	h.out.Change.NewAgent = a
	h.event(event.AgentRegistered, map[string]any{"by": "hook", "pane": a.Pane, "session_id": a.SessionID}, a)
}

// apply does what the hook's event says to an active agent. It takes the transcript's path from any hook: the SessionStart
// may be lost, and the daemon looks into the transcript for whether the agent was given work.
func (h *hookStep) apply() {
	a := h.tx.Agent
	if a.TranscriptPath == nil && h.p.TranscriptPath != "" {
		path := h.p.TranscriptPath
		a.TranscriptPath = &path
	}
	switch h.p.Event {
	case "SessionStart":
		h.sessionStart()
	case "UserPromptSubmit":
		h.promptSubmitted()
	case "Stop":
		h.stopped()
	case "StopFailure":
		h.stopFailed()
	case "PermissionRequest":
		h.permission()
	case "Notification":
		switch h.p.NotificationType {
		case "permission_prompt", "agent_needs_input":
			h.beginWaiting()
		case "idle_prompt":
			h.setState(Idle)
		}
	case "PreCompact":
		h.compacting()
	case "SessionEnd":
		if h.p.Reason != "clear" && h.p.Reason != "resume" {
			a.EndHint = h.p.Reason
		}
	}
}

// sessionStart applies a SessionStart. The first one registers the agent; a later one reports another session, or the same
// one after its context was compacted.
func (h *hookStep) sessionStart() {
	a := h.tx.Agent
	changed := a.SessionID != nil && *a.SessionID != h.p.SessionID
	a.setSession(h.p)
	if changed || h.p.Source == "compact" {
		a.Context, a.ContextStart = nil, nil // the window is fresh, and the last measurement was of the one before
	}
	if changed {
		h.event(event.AgentSessionChanged, map[string]any{"session_id": h.p.SessionID, "source": h.p.Source}, a)
	}
	now := h.d.now()
	if a.asksBeforeSession() {
		a.noteAnswered(now)
	}
	if h.p.Source != "compact" {
		h.setState(Idle)
	}
	first := a.RegisteredAt == nil
	if first {
		a.RegisteredAt, a.Note = &now, ""
		if h.proc.PID != 0 && (h.in.PID != a.PID || a.PIDStart == 0) {
			a.PID, a.PIDStart = h.proc.PID, h.proc.Start
		}
		h.event(event.AgentRegistered, map[string]any{"by": "launch", "pane": a.Pane, "session_id": a.SessionID}, a)
	}
	// The daemon launched the runtime with the skill in its system prompt, so that the session has it from its start.
	if first && a.Managed && a.Persona != nil && a.SkillInjectedAt == nil {
		a.SkillInjectedAt = &now
		h.event(event.AgentSkillInjected, map[string]any{"persona": *a.Persona, "by": "system prompt"}, a)
	}
}

// promptSubmitted applies a UserPromptSubmit: a turn begins, or a prompt joins the running one. A prompt that contains the
// text of a typed delivery confirms that delivery.
func (h *hookStep) promptSubmitted() {
	a := h.tx.Agent
	queued := a.State == Working
	ours := false
	for _, dl := range h.tx.Deliveries {
		if dl.State != DeliveryTyping && dl.State != DeliveryTyped || !carries(h.p.Prompt, dl) {
			continue
		}
		h.confirm(dl, fmt.Sprintf("UserPromptSubmit, hook %d", h.tx.HookID), queued)
		ours = dl.Kind != KindMessage && dl.Kind != KindCommand
		break
	}
	if h.command {
		return
	}
	a.beginTurn(turnID(h.p), queued)
	switch {
	case strings.HasPrefix(strings.TrimSpace(h.p.Prompt), "<task-notification>"):
		a.endTask()
	case !ours:
		a.takeWork(h.tx.HookID, h.in.At)
	}
	h.setState(Working)
}

// confirm gives a delivery the verdict submitted, and notes that with the skill or the handoff that waits for it. queued: the
// prompt was queued behind a running turn.
func (h *hookStep) confirm(dl *Delivery, evidence string, queued bool) {
	dl.decide(Submitted, evidence, h.d.now())
	h.out.Change.Deliveries = append(h.out.Change.Deliveries, dl)
	e := h.d.event(event.DeliverySubmitted, &h.tx.Agent.ID, dl.HandoffID, deliveryPayload(dl)).For(h.tx.Agent.PipelineID, h.tx.Agent.StepID)
	h.out.Change.Events = append(h.out.Change.Events, e)
	if dl.Kind == KindInstruction {
		h.tx.Agent.takeInstruction()
	}
	if dl.Kind == KindSkill && h.tx.Agent.SkillInjectedAt == nil {
		h.tx.Agent.SkillInjectedAt = dl.DecidedAt
		h.event(event.AgentSkillInjected, map[string]any{"persona": h.tx.Agent.PersonaSlug(), "by": "prompt"}, h.tx.Agent)
	}
	if hf := h.tx.Handoff; hf != nil && hf.DeliveryID != nil && *hf.DeliveryID == dl.ID {
		hf.confirmTakenIn(h.p.PromptID, queued)
		h.touchHandoff()
	}
}

// stopped applies a Stop: the turn has ended well. It may end the turn that took a handoff's instruction; if it does not,
// it may be answered with the instruction that waits for it.
func (h *hookStep) stopped() {
	a := h.tx.Agent
	if e := h.d.endTrouble(a, "turn"); e != nil {
		h.out.Change.Events = append(h.out.Change.Events, e)
	}
	if said := words.Clip(words.Line(h.p.LastAssistantMessage), maxLastMessage); said != "" {
		a.LastMessage = said
	}
	for _, dl := range h.tx.Deliveries {
		switch {
		case dl.State == DeliveryAnswered && h.p.StopHookActive && dl.HookKey != h.in.Key:
			h.confirm(dl, fmt.Sprintf("Stop with stop_hook_active, hook %d", h.tx.HookID), false)
		case dl.State == DeliveryTyped && dl.Attempts > 0 && a.TurnPromptID == "" && h.d.cameAfter(h.tx.HookID, h.in.At, dl):
			// The runtime reports no prompts. It was idle when the daemon typed and pressed Enter, so that this Stop ends the
			// turn of that text. A Stop of an earlier turn that comes late does not; cameAfter tells.
			h.confirm(dl, fmt.Sprintf("Stop, hook %d, of a runtime that reports no prompts", h.tx.HookID), false)
			if hf := h.tx.Handoff; hf != nil {
				hf.acceptAnyStop()
			}
		}
	}
	a.endTurn(h.tx.HookID, h.p.BackgroundTasks, !a.HandingOver && !h.promptUnreported())
	h.setState(Idle)
	hf := h.tx.Handoff
	if hf == nil {
		return
	}
	if h.endsInstructionTurn(hf) {
		hf.endTurn(h.tx.HookID)
		h.touchHandoff()
		return
	}
	h.answerWithInstruction(hf)
}

// endsInstructionTurn reports whether this Stop ends the turn that took the handoff's instruction.
func (h *hookStep) endsInstructionTurn(hf *Handoff) bool {
	if !hf.awaitsStop() {
		return false
	}
	if h.p.BackgroundTasks > 0 && !h.hasContent(hf.FilePath) {
		return false // a background task may write the document, which is taken up when it is there
	}
	sameTurn := hf.PromptID == "" || h.p.PromptID == "" || hf.PromptID == h.p.PromptID
	if !hf.PromptQueue {
		return sameTurn
	}
	// The instruction was queued behind a running turn, and its hook named that turn's prompt_id. If a tool was running the
	// instruction joined that turn. If none was, that turn ends before the model has seen the instruction, and only the next
	// Stop counts. The document tells the two apart: in the first case it is there.
	return !sameTurn || h.hasContent(hf.FilePath)
}

// hasContent reports whether the file at path had content before the transaction began. If nobody has looked, it notes the
// path as unseen.
func (h *hookStep) hasContent(path string) bool {
	there, seen := h.files[path]
	if !seen {
		h.unseen = path
	}
	return there
}

// promptUnreported reports whether an instruction was typed, and no hook reported the prompt of the turn that ended. That
// turn is the instruction's, and the transcript will confirm it.
func (h *hookStep) promptUnreported() bool {
	return h.p.PromptID != "" && h.p.PromptID != h.tx.Agent.TurnPromptID && slices.ContainsFunc(h.tx.Deliveries, func(dl *Delivery) bool {
		return dl.Kind == KindInstruction && (dl.State == DeliveryTyping || dl.State == DeliveryTyped)
	})
}

// answerWithInstruction answers the Stop of a busy agent with the instruction that waits for it. Text that is typed at a
// busy agent would be queued behind the running turn, whose Stop would be taken for the answer.
func (h *hookStep) answerWithInstruction(hf *Handoff) {
	if hf.Phase != Instructing || h.in.Replayed || hf.DeliveryID == nil || h.tx.Agent.StopAskedAt != nil {
		return
	}
	for _, dl := range h.tx.Deliveries {
		if dl.ID != *hf.DeliveryID || dl.State != DeliveryQueued {
			continue
		}
		now := h.d.now()
		dl.State, dl.HookKey, dl.TypedAt, dl.AfterHook, dl.Attempts = DeliveryAnswered, h.in.Key, &now, h.tx.HookID, 1
		dl.Evidence = fmt.Sprintf("answer to the Stop, hook %d", h.tx.HookID)
		h.out.Change.Deliveries = append(h.out.Change.Deliveries, dl)
		h.event(event.DeliveryAnswered, deliveryPayload(dl), h.tx.Agent)
		h.tx.Agent.takeInstruction()
		h.out.Output = event.Payload(map[string]string{"decision": "block", "reason": dl.Text})
		h.setState(Working)
		return
	}
}

// touchHandoff has the handoff's row written with the hook. Its phase stays.
func (h *hookStep) touchHandoff() {
	h.out.Change.Move = &Move{Handoff: h.tx.Handoff, From: h.tx.Handoff.Phase}
}

// event adds an event about an agent, and about the open handoff if there is one, to the change.
func (h *hookStep) event(typ event.Type, payload map[string]any, a *Agent) {
	var handoff *int64
	if h.tx.Handoff != nil {
		handoff = &h.tx.Handoff.ID
	}
	h.out.Change.Events = append(h.out.Change.Events, h.d.event(typ, &a.ID, handoff, payload).For(a.PipelineID, a.StepID))
}

// carries reports whether a submitted prompt is or contains the text of a delivery.
func carries(prompt string, dl *Delivery) bool {
	if dl.Nonce != "" {
		return strings.Contains(prompt, dl.Nonce)
	}
	return runtimes.MatchesPrompt(prompt, dl.Text)
}

// turnID returns the id of the turn that a prompt begins. It is never "", which stands for no turn, also where a runtime
// gives its prompts no id.
func turnID(p hooks.Payload) string { return cmp.Or(p.PromptID, "?") }

// sessionName returns the name of an agent that registers by itself. A title that could not be its successor's name is not
// taken.
func sessionName(p hooks.Payload) string {
	for _, name := range []string{p.SessionTitle, filepath.Base(p.CWD)} {
		if name = strings.TrimSpace(name); name != "" && checkLine("name", name, maxName) == nil {
			return name
		}
	}
	return "agent"
}
