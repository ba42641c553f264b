package daemon

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// A runtime runs all hooks of a prompt at once. Each of them may refuse the prompt: then the model never sees it, no turn runs, no
// Stop comes, and Claude Code puts the text back into the composer. Our own hook hears of the prompt before that is decided. So for a
// runtime that writes refusals into its transcript, the hook of a prompt is no verdict yet: the delivery is heard. The transcript
// shows which of the two came, the prompt or the refusal. A Stop of that turn shows it as well.

// hears reports whether the hook of a prompt leaves open whether the runtime takes the prompt.
func hears(rt *runtimes.Runtime, dl *Delivery, queued bool) bool {
	return rt.Can.TellsRefusals && !queued && dl.byKeys() && dl.Way != runtimes.ByEcho
}

// hear notes the hook of a typed prompt on its delivery and its handoff.
func (d *Delivery) hear(hook int64) {
	d.State, d.Heard, d.Attempts = DeliveryTyped, hook, max(d.Attempts, 1)
}

// confirmHeard confirms the texts that the runtime has reported as the prompt of the turn that has ended now. Whether it ended well or
// with an error: it ran, so no hook had refused its prompt.
func (h *hookStep) confirmHeard() {
	for _, dl := range h.tx.Deliveries {
		if dl.State == DeliveryTyped && dl.Heard != 0 && (h.p.PromptID == "" || h.p.PromptID == h.tx.Agent.TurnPromptID) {
			h.confirm(dl, evidenceHeard(dl.Heard), false)
		}
	}
}

// decideHeard gives a text that the runtime has reported as a prompt its verdict, although no turn has proved it: the agent has ended,
// or nothing more came in time. The end of the transcript may have the refusal; since is when the text was typed at the earliest.
func (d *Delivery) decideHeard(rt *runtimes.Runtime, jsonl []byte, since, now time.Time) {
	for line := range bytes.Lines(jsonl) {
		r, ok := rt.Tail("", line)
		if !ok || r.Event != hooks.PromptRefused {
			continue
		}
		if p, err := hooks.Parse(r.Event, r.Body); err == nil && refusedPrompt(p, d) && !r.At.Before(since.Truncate(time.Millisecond)) {
			d.decide(NotSubmitted, refusalWords(p.Reason), now)
			return
		}
	}
	d.decide(Submitted, evidenceHeard(d.Heard), now)
}

// evidenceHeard is the evidence of a text that the runtime has reported as a prompt.
func evidenceHeard(hook int64) string { return fmt.Sprintf("UserPromptSubmit, hook %d", hook) }

// refusedPrompt reports whether a refusal is about the text of a delivery. A hook may have the runtime leave out the prompt.
func refusedPrompt(p hooks.Payload, dl *Delivery) bool {
	if dl.State != DeliveryTyping && dl.State != DeliveryTyped || !dl.byKeys() {
		return false
	}
	if p.Prompt == "" {
		return dl.Heard != 0
	}
	return carries(p.Prompt, dl)
}

// refusalWords says that another hook has refused a prompt, without a full stop.
func refusalWords(reason string) string {
	return "another hook refused the prompt: " + words.Quote(words.Clip(words.Line(cmp.Or(reason, "it gave no reason")), maxTrouble))
}

// promptRefused applies the report that another hook has refused a prompt. The turn that our own hook has begun does not run.
func (h *hookStep) promptRefused() {
	a, why, ours := h.tx.Agent, refusalWords(h.p.Reason), false
	for _, dl := range h.tx.Deliveries {
		if !refusedPrompt(h.p, dl) {
			continue
		}
		ours = true
		dl.decide(NotSubmitted, why, h.d.now())
		h.out.Change.Deliveries = append(h.out.Change.Deliveries, dl)
		e := h.d.event(event.DeliveryNotSubmitted, &a.ID, dl.HandoffID, deliveryPayload(dl)).For(a.PipelineID, a.StepID)
		stepFails := a.StepID != nil && a.startedWith(dl) // its step tells, as a handoff does
		e.Alert = dl.HandoffID == nil && dl.Kind != KindExit && !stepFails
		h.out.Change.Events = append(h.out.Change.Events, e)
	}
	switch {
	case a.State == Working && h.in.At.Before(a.StateAt.Truncate(time.Millisecond)):
		return // a later prompt has begun a turn
	case a.State != Working && !ours:
		return // our own hook refuses commands of ours, which begin no turn
	}
	if hf := h.tx.Handoff; hf != nil && hf.awaitsStop() && a.HandingOver {
		hf.failTurn(why)
		h.touchHandoff()
	}
	a.refuseTurn(why)
	h.setState(a.rest())
}

// clearRefused takes a text that another hook has refused, and that the daemon has typed, out of the composer, in which the runtime
// has put it back. Otherwise the next text would be glued behind it. It touches no text that a person has typed.
func clearRefused(ctx context.Context, d *Daemon, a *Agent, p hooks.Payload) error {
	open, err := d.Store.OpenDeliveries(ctx, a.ID)
	if err != nil || !a.HasPane() {
		return err
	}
	for i := range open {
		dl := &open[i]
		if !refusedPrompt(p, dl) {
			continue
		}
		term, err := d.terminalOf(a)
		if err != nil {
			return err
		}
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for until, seen := time.Now().Add(time.Second), false; time.Now().Before(until); {
			s, err := d.readScreen(ctx, a)
			if err != nil || seen && s.empty() {
				return err
			}
			if mine := s.Holds(dl.Text) || runtimes.IsPastedMark(s.Draft) && !runtimes.FitsTyped(dl.Text); s.Composer && d.inFront(a) && (mine || seen && s.Draft != "") {
				if err := term.Press(ctx, a.Ref(), s.sight(), tmux.CtrlU); err == nil {
					seen = true
				}
			}
			if !ticked(ctx, tick.C) {
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// carries reports whether a submitted prompt is or contains the text of a delivery.
func carries(prompt string, dl *Delivery) bool {
	if dl.Nonce != "" {
		return strings.Contains(prompt, dl.Nonce)
	}
	return runtimes.MatchesPrompt(prompt, dl.Text)
}
