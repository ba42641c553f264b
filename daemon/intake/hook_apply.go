package intake

import (
	"fmt"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// hookStep decides the effects of one hook, inside the hook's transaction. The transaction locks rows, so hookStep reads no
// file and calls no other program. It decides from its fields alone.
type hookStep struct {
	engine.Facts
	in daemon.HookInput
	p  hooks.Payload
	tx daemon.HookTx
	claim
	pane    *tmux.PaneInfo    // the pane that the hook names, verified; nil: the hook names no pane, or a wrong one
	noPane  string            // why the pane that the hook names is wrong; "": it is not wrong
	around  int64             // id of the active agent inside whose process the hook's process runs; 0: none
	command bool              // the hook is a person's /handoff
	goesOn  bool              // the CLI that ended the held hook of a /handoff goes on, as after Esc
	unknown bool              // the daemon has read about the end of a turn whose prompt no hook has told
	twin    bool              // another run of the hook's command has told the same
	own     bool              // no process sent it: the daemon has read it, maybe long after it happened
	holds   bool              // the hook's command waits if the daemon holds the hook
	account *runtimes.Account // of the process that may register; nil: nobody could read it
	resets  *time.Time        // when the limit ends that the hook reports; nil: it does not say that

	out         daemon.HookDecision
	rejoins     bool               // the agent itself has sent the hook again
	moved       bool               // the agent's session has moved to another directory
	cancelled   bool               // the hook cancels the agent's open handoff
	asked       *daemon.Permission // the permission for which the hook is to be held; nil: none
	disbelieved string             // why the hook was not believed, for the operator; "": the hook was believed
}

// decide returns the change to commit with the hook, and the output for the hook's command to print.
func (h *hookStep) decide() daemon.HookDecision {
	if h.tx.Again {
		h.rejoins = h.tx.Agent != nil && h.foreign() == ""
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
	if h.overtaken() {
		h.out.Reason = "a later turn has begun"
		return h.out
	}
	if h.twin {
		h.out.Reason = "another run of its command has told the same"
		return h.out
	}
	h.out.Applied = true
	a := h.tx.Agent
	a.LastHook = h.tx.HookID
	h.out.Change.Agents = []*daemon.Agent{a}
	if h.pane != nil && !a.HasPane() && !a.Managed {
		a.SetPane(h.pane)
		if a.Hold.Is(daemon.HoldNoPane) {
			a.Release()
		}
	}
	if h.in.PID == a.PID {
		a.LearnAccount(h.account)
	}
	if !a.Active() {
		h.afterEnd()
		return h.out
	}
	h.apply()
	return h.out
}

// overtaken reports whether the daemon has read about the end of a turn after a later turn has begun. The end of a turn that
// is not the row's may also be that of a later one, whose prompt's hook was lost: then it came after the row's state.
func (h *hookStep) overtaken() bool {
	a, turn := h.tx.Agent, h.tx.Agent.TurnPromptID
	if h.own && turn == "?" && h.p.PromptID == "" && (h.p.Event == hooks.Interrupt || h.p.Event == hooks.StopFailure) {
		// The runtime's turns have no ids. It may lose a text that comes right after its dialog is left, so the screen ends that.
		return a.State == daemon.Working && h.in.At.Before(a.StateAt) || a.State == daemon.Waiting && h.p.Event == hooks.Interrupt
	}
	return h.ofUnknownTurn() && turn != "" && turn != "?" && !h.in.At.After(a.StateAt)
}

// ofUnknownTurn reports whether the daemon has read about the end of a turn whose prompt no hook has told yet.
func (h *hookStep) ofUnknownTurn() bool {
	return h.own && h.p.PromptID != "" && h.p.PromptID != h.tx.Agent.TurnPromptID && h.p.Event != hooks.UserPromptSubmit
}

// afterEnd applies a hook that came after its agent's end was committed, as out of the spool. The session is opened again where it was last.
func (h *hookStep) afterEnd() {
	a := h.tx.Agent
	switch {
	case h.p.Event == "SessionEnd" && a.EndHint == "":
		a.EndHint = h.p.Reason
	case h.p.Event == "Stop" && !a.HandingOver: // its pipeline can still take the output of its last turn
		a.EndTurn(h.tx.HookID, &h.p, true)
	}
	h.follow(a.TranscriptPath)
}

// apply applies the hook's event to an active agent. It takes the session's id and the transcript's path from any hook,
// because the SessionStart may be lost, and the daemon looks in the transcript whether the agent was given work, and how its
// turns end.
func (h *hookStep) apply() {
	a := h.tx.Agent
	was, binds := a.TranscriptPath, h.mayBind() // before its session is known
	defer h.noteTranscript(was)
	a.LearnSession(h.p)
	if h.p.PermissionMode != "" && h.p.AgentID == "" { // a subagent may have a mode of its own
		a.SessionMode = h.p.PermissionMode
	}
	if h.unknown = h.ofUnknownTurn(); h.unknown {
		a.EndUnknownTurn(h.p.PromptID, h.in.At)
	}
	defer h.contextReported() // after the event, which may begin a new window
	switch h.p.Event {
	case "SessionStart":
		h.sessionStart(binds)
	case "UserPromptSubmit":
		h.promptSubmitted()
	case "Stop":
		h.followCopy()
		h.stopped()
	case "StopFailure":
		h.stopFailed()
	case "PermissionRequest":
		h.permission()
	case "Notification":
		switch h.p.NotificationType {
		case "permission_prompt":
			if a.State != daemon.Working || h.in.At.Sub(h.Ask(engine.Question{Answered: a.ID}).At) >= sight.Reminded {
				h.beginWaiting()
			}
		case "agent_needs_input":
			h.beginWaiting()
		case sight.DialogFollows:
			a.Ask("")
			h.beginWaiting()
		case "idle_prompt":
			h.setState(a.Rest())
		case "quota_auto_resume_fired":
			h.resuming()
		}
	case hooks.Interrupt:
		if h.p.Handoff != 0 {
			h.cancelInPane()
			break
		}
		h.setState(a.Interrupt(h.in.At))
	case hooks.PromptRefused:
		h.promptRefused()
	case hooks.RetryStarted:
		h.retryStarted()
	case hooks.RetryEnded:
		h.retryEnded()
	case hooks.DialogClosed:
		if a.State == daemon.Waiting {
			h.setState(daemon.Working)
		}
	case "PreCompact":
		h.compacting()
	case "SessionEnd":
		if h.p.Reason != "clear" && h.p.Reason != "resume" {
			a.EndHint = h.p.Reason
		}
	}
	h.follow(was)
}

// sessionStart applies a SessionStart. The first SessionStart registers the agent. A later one reports another session, or
// the same session after its context was compacted. binds: it may make its process the agent's.
func (h *hookStep) sessionStart(binds bool) {
	a := h.tx.Agent
	copied := h.ofCopy()
	if copied && !h.Ask(engine.Question{Content: h.p.TranscriptPath}).Yes {
		return // it cannot be resumed yet: its first Stop makes it the agent's session, or followTranscript does
	}
	changed := a.SessionID != nil && h.p.SessionID != "" && *a.SessionID != h.p.SessionID
	a.SetSession(h.p)
	if changed || h.p.Source == "compact" {
		a.BeginWindow()
	}
	if changed {
		if a.StopCameAt != nil && !copied {
			h.setState(a.Rest()) // a person leaves a session only when its turn is over
		}
		if !copied {
			a.EndLimit() // the new session has no task that could go on after the limit
		}
		h.event(event.AgentSessionChanged, map[string]any{"session_id": h.p.SessionID, "source": h.p.Source}, a)
	}
	now := h.Now
	if a.AsksBeforeSession() {
		a.NoteAnswered(now)
	}
	if h.p.Source != "compact" && !(copied && !a.AtRest()) { // a copy goes on with the turn in which it was made
		h.setState(a.Rest())
	}
	if binds && h.proc.PID != 0 && (h.in.PID != a.PID || a.PIDStart == 0) {
		a.SetProcess(h.proc)
	}
	first := a.RegisteredAt == nil
	if first {
		a.RegisteredAt = &now
		if !a.Hold.Is(daemon.HoldBrokeOff) {
			a.Release()
		}
		h.event(event.AgentRegistered, map[string]any{"by": "launch", "pane": a.Pane, "session_id": a.SessionID}, a)
	}
	// The daemon launched the runtime with the skill in its system prompt, so that the session has it from its start.
	if first && a.Managed && a.Persona != nil && a.SkillInjectedAt == nil && h.RuntimeOf(a).Can.Skill != runtimes.SkillAsPrompt {
		a.HasSkillSince(now)
		h.event(event.AgentSkillInjected, map[string]any{"persona": *a.Persona, "by": "system prompt"}, a)
	}
}

// promptSubmitted applies a UserPromptSubmit: a turn begins, or a prompt joins the running one. A prompt that contains the
// text of a typed delivery confirms that delivery.
func (h *hookStep) promptSubmitted() {
	a := h.tx.Agent
	sameTurn := h.p.PromptID != "" && h.p.PromptID == a.TurnPromptID && !a.AtRest() // also below the dialog of a sub-agent
	queued := a.State == daemon.Working && a.StopCameAt == nil || sameTurn
	ours, asked := false, h.p.Prompt
	if !h.command {
		a.BeginTurn(turnID(h.p), queued)
	}
	for _, dl := range h.tx.Deliveries {
		if dl.State != daemon.DeliveryTyping && dl.State != daemon.DeliveryTyped || !deliveries.Carries(h.p.Prompt, dl) {
			continue
		}
		// It is behind no other turn if that turn began later, or is the text's own: a prompt queued behind the text told of it first, or the
		// text was refused and submitted again.
		late := h.in.At.Before(a.StateAt) || h.p.PromptID != "" && !sameTurn
		behind := queued && !late && dl.Heard == 0
		if deliveries.Hears(h.RuntimeOf(a), dl, behind) {
			dl.Hear(h.tx.HookID, h.in.At)
			h.out.Change.Deliveries = append(h.out.Change.Deliveries, dl)
			if hf := h.tx.Handoff; hf != nil && hf.DeliveryID != nil && *hf.DeliveryID == dl.ID {
				hf.HearIn(h.p.PromptID)
				h.touchHandoff()
			}
			if dl.Kind == daemon.KindInstruction {
				a.TakeInstruction()
			}
		} else {
			h.confirm(dl, deliveries.EvidenceHeard(h.tx.HookID), queued)
		}
		ours = dl.Kind != daemon.KindMessage && dl.Kind != daemon.KindCommand && dl.Kind != daemon.KindGoOn
		if dl.Kind == daemon.KindInstruction && a.State == daemon.Idle { // behind a turn that a person has interrupted
			a.Asked = agents.PassedOn(a)
		}
		if dl.Kind == daemon.KindGoOn {
			asked = "" // it goes on with what it was asked before
		}
		break
	}
	if h.command {
		return
	}
	ended := h.turnHasEnded()
	if hf := h.tx.Handoff; !ours && runtimes.IsOurs(h.p.Prompt) { // the transcript has shown it first, so that its delivery is done
		if ours = true; hf != nil && hf.AgentID == a.ID && strings.Contains(h.p.Prompt, hf.Ref) && !ended {
			a.TakeInstruction()
		}
	}
	task := strings.HasPrefix(strings.TrimSpace(h.p.Prompt), "<task-notification>")
	switch {
	case task:
		a.EndTask(h.p.Prompt)
	case !ours:
		a.TakeWork(h.tx.HookID, h.in.At, asked)
	}
	if ended {
		return
	}
	if a.State == daemon.Waiting && task && h.RuntimeOf(a).Registry != nil {
		return // it comes by itself, and the dialog of another sub-agent may stand: the registry tells
	}
	h.setState(daemon.Working)
}

// confirm gives a delivery the verdict Submitted. It notes the agent's skill as injected, or the handoff's instruction as
// taken, if the delivery was one of these. queued says that the prompt was queued behind a running turn.
func (h *hookStep) confirm(dl *daemon.Delivery, evidence string, queued bool) {
	dl.Decide(daemon.Submitted, evidence, h.Now)
	h.out.Change.Deliveries = append(h.out.Change.Deliveries, dl)
	e := h.Facts.Event(event.DeliverySubmitted, &h.tx.Agent.ID, dl.HandoffID, deliveries.DeliveryPayload(dl)).For(h.tx.Agent.PipelineID, h.tx.Agent.StepID)
	h.out.Change.Events = append(h.out.Change.Events, e)
	if dl.Kind == daemon.KindInstruction {
		h.tx.Agent.TakeInstruction()
	}
	if dl.Kind == daemon.KindSkill && h.tx.Agent.SkillInjectedAt == nil {
		h.tx.Agent.HasSkillSince(*dl.DecidedAt)
		h.event(event.AgentSkillInjected, map[string]any{"persona": h.tx.Agent.PersonaSlug(), "by": "prompt"}, h.tx.Agent)
	}
	if hf := h.tx.Handoff; hf != nil && hf.DeliveryID != nil && *hf.DeliveryID == dl.ID {
		hf.ConfirmTakenIn(h.p.PromptID, queued)
		h.touchHandoff()
	}
}

// stopped applies a Stop: a turn has ended without an error. If that turn took a handoff's instruction, stopped notes its
// end on the handoff. Otherwise, if an instruction waits for a Stop, the instruction becomes the answer to this Stop.
func (h *hookStep) stopped() {
	a := h.tx.Agent
	if e := h.EndTrouble(a, "turn"); e != nil {
		h.out.Change.Events = append(h.out.Change.Events, e)
	}
	a.EndLimit()
	a.Answer(h.p.LastAssistantMessage)
	h.confirmHeard()
	for _, dl := range h.tx.Deliveries {
		// Another run of the command that was answered may tell of the same Stop, out of the spool.
		if dl.State == daemon.DeliveryAnswered && h.p.StopHookActive && dl.HookKey != h.in.Key && h.CameAfter(h.tx.HookID, h.in.At, dl) {
			h.confirm(dl, fmt.Sprintf("Stop with stop_hook_active, hook %d", h.tx.HookID), false)
		}
	}
	own := !a.HandingOver && !h.promptUnreported()
	a.EndTurn(h.tx.HookID, &h.p, own)
	a.StopCame(h.in.At)
	if !agents.MayGoOn(&h.RuntimeOf(a).Can) {
		h.setState(daemon.Idle)
	}
	hf := h.tx.Handoff
	switch {
	case hf == nil:
	case h.endsInstructionTurn(hf):
		hf.EndTurn(h.tx.HookID, h.p.PromptID)
		h.touchHandoff()
	default:
		h.answerWithInstruction(hf)
	}
}

// touchHandoff adds a write of the handoff's row to the change. The handoff stays in its phase.
func (h *hookStep) touchHandoff() {
	h.out.Change.Move = &daemon.Move{Handoff: h.tx.Handoff, From: h.tx.Handoff.Phase}
}

// event adds an event about an agent, and about the open handoff if there is one, to the change.
func (h *hookStep) event(typ event.Type, payload map[string]any, a *daemon.Agent) {
	var handoff *int64
	if h.tx.Handoff != nil {
		handoff = &h.tx.Handoff.ID
	}
	h.out.Change.Events = append(h.out.Change.Events, h.Facts.Event(typ, &a.ID, handoff, payload).For(a.PipelineID, a.StepID))
}
