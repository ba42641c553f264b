package intake

import (
	"cmp"
	"context"
	"slices"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/transcript"
	"github.com/understudyd/understudy/hooks"
)

// endsInstructionTurn reports whether this Stop ends the turn that took the handoff's instruction.
func (h *hookStep) endsInstructionTurn(hf *daemon.Handoff) bool {
	if !hf.AwaitsStop() {
		return false
	}
	maybe := daemon.AwaitedTasks(h.tx.Agent, h.Settings.Handoff.Background) > 0 || h.RuntimeOf(h.tx.Agent).Can.QuietAfter > 0
	if maybe && !h.Ask(engine.Question{Content: hf.FilePath}).Yes {
		return false // a background task may still write the document, or a silent agent; the handoff goes on when it is there
	}
	sameTurn := hf.PromptID == "" || h.p.PromptID == "" || hf.PromptID == h.p.PromptID
	if !hf.PromptQueue {
		return sameTurn
	}
	// The instruction was queued behind a running turn, and its hook named that turn's prompt_id. If a tool was running, the
	// instruction joined that turn. If no tool was running, that turn ends before the model has seen the instruction, and only
	// the next Stop counts. The document tells the two cases apart: it is there only if the instruction joined the turn.
	return !sameTurn || h.Ask(engine.Question{Content: hf.FilePath}).Yes
}

// promptUnreported reports whether an instruction was typed, and no hook reported the prompt of the turn that ended. Then
// that turn took the instruction, and the transcript will confirm the delivery.
func (h *hookStep) promptUnreported() bool {
	return h.p.PromptID != "" && h.p.PromptID != h.tx.Agent.TurnPromptID && slices.ContainsFunc(h.tx.Deliveries, func(dl *daemon.Delivery) bool {
		return dl.Kind == daemon.KindInstruction && dl.Heard == 0 && (dl.State == daemon.DeliveryTyping || dl.State == daemon.DeliveryTyped)
	})
}

// turnID returns the id of the turn that a prompt begins. If the runtime gives its prompts no id, turnID returns "?",
// because "" stands for no turn.
func turnID(p hooks.Payload) string { return cmp.Or(p.PromptID, "?") }

// answerLost handles a hook that is stored already. If the hook comes from the spool, its sender never got the whole answer.
// If that answer was an instruction, the agent never saw the instruction, and answerLost queues the delivery again.
func (h *hookStep) answerLost() {
	h.out.Reason = "stored already"
	if !h.in.Replayed {
		return
	}
	for _, dl := range h.tx.Deliveries {
		if dl.State == daemon.DeliveryAnswered && dl.HookKey == h.in.Key {
			dl.LoseAnswer()
			h.out.Change.Deliveries = append(h.out.Change.Deliveries, dl)
			if a := h.tx.Agent; a != nil && a.Active() && a.State == daemon.Working {
				h.setState(a.Rest())
				a.LoseInstruction()
				h.out.Change.Agents = []*daemon.Agent{a}
			}
		}
	}
}

// answerWithInstruction answers the Stop of a busy agent with the instruction that waits for this Stop. The daemon does not
// type the instruction at a busy agent: the runtime would queue the text behind the running turn, and the daemon would take
// the Stop of that turn for the end of the instruction's turn.
func (h *hookStep) answerWithInstruction(hf *daemon.Handoff) {
	if hf.Phase != daemon.Instructing || h.in.Replayed || hf.DeliveryID == nil || h.tx.Agent.StopAskedAt != nil {
		return
	}
	if h.own || !h.RuntimeOf(h.tx.Agent).Can.HoldsTurn {
		return // nobody reads the answer: the agent's lane gives it the instruction now that it is idle
	}
	for _, dl := range h.tx.Deliveries {
		if dl.ID != *hf.DeliveryID || dl.State != daemon.DeliveryQueued {
			continue
		}
		dl.AnswerStop(h.in.Key, h.tx.HookID, h.Now)
		h.out.Change.Deliveries = append(h.out.Change.Deliveries, dl)
		h.event(event.DeliveryAnswered, deliveries.DeliveryPayload(dl), h.tx.Agent)
		h.tx.Agent.TakeInstruction()
		h.out.Output = event.JSON(map[string]string{"decision": "block", "reason": dl.Text})
		h.tx.Agent.ForgetStop()
		h.setState(daemon.Working)
		return
	}
}

// LastAnswer returns the last message of a transcript if it is an answer; "": it is none, or the transcript can't be read.
func LastAnswer(ctx context.Context, rt *runtimes.Runtime, path string) string {
	got, err := transcript.Read(ctx, rt, path, transcript.Want{Messages: 1})
	if n := len(got.Messages); err == nil && n > 0 && got.Messages[n-1].Role == "assistant" {
		return got.Messages[n-1].Text
	}
	return ""
}
