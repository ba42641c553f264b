package daemon

import (
	"bytes"
	"cmp"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
)

// Refusal looks in the end of a transcript for what refuses a text; "": nothing there does. A refusal before since is about another prompt:
// see RefusedSince.
func (d *Delivery) Refusal(rt *runtimes.Runtime, jsonl []byte, since time.Time) (why string) {
	for line := range bytes.Lines(jsonl) {
		r, ok := rt.Tail("", line)
		if !ok || r.Event != hooks.PromptRefused || r.At.Before(since) {
			continue
		}
		if p, err := hooks.Parse(r.Event, r.Body); err == nil && !p.Kept && RefusedPrompt(p, d, r.At) {
			why = RefusalWords(p.Reason)
		}
	}
	return why
}

// CloseHeard gives a heard text the verdict that nothing proves, unless it was refused.
func (d *Delivery) CloseHeard(refusal string, v Verdict, evidence string, now time.Time) {
	if refusal != "" {
		v, evidence = NotSubmitted, refusal
	}
	d.Decide(v, evidence, now)
}

// RefusedPrompt reports whether a refusal that came at the time at is about the text of a delivery. A hook may have the runtime leave out
// the prompt.
func RefusedPrompt(p hooks.Payload, dl *Delivery, at time.Time) bool {
	if dl.State != DeliveryTyping && dl.State != DeliveryTyped {
		return false
	}
	if p.Prompt == "" { // a server that refuses a text tells of no prompt before, and it may refuse an earlier text twice
		return dl.Heard != 0 || dl.Way == runtimes.ByServer && dl.TypedAt != nil && !at.Before(*dl.TypedAt)
	}
	return Carries(p.Prompt, dl)
}

// RefusalWords says that another hook has refused a prompt, without a full stop.
func RefusalWords(reason string) string {
	return "another hook refused the prompt: " + words.Quote(words.Clip(words.Line(cmp.Or(reason, "it gave no reason")), MaxTrouble))
}

// Carries reports whether a submitted prompt is or contains the text of a delivery.
func Carries(prompt string, dl *Delivery) bool {
	if dl.Nonce != "" {
		return strings.Contains(prompt, dl.Nonce)
	}
	return runtimes.MatchesPrompt(prompt, dl.Text)
}
