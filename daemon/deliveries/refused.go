package deliveries

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/presence"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// A runtime runs all hooks of a prompt at once. Each of them may refuse the prompt: then the model never sees it, no turn runs and no
// Stop comes. Our own hook hears of the prompt before that is decided. So for a runtime that writes refusals into its transcript, the
// hook of a prompt is no verdict yet: the delivery is heard. The transcript shows which of the two came, the prompt or the refusal. A
// Stop of that turn shows it as well. Claude Code puts the refused text back into the composer.

// promptHooks is how long the hooks of a prompt may take: Claude Code gives each ten minutes at most.
const promptHooks = 10 * time.Minute

// Hears reports whether the hook of a prompt leaves open whether the runtime takes the prompt.
func Hears(rt *runtimes.Runtime, dl *daemon.Delivery, queued bool) bool {
	return rt.Can.TellsRefusals && !queued && dl.Way != runtimes.ByEcho
}

// RefusedSince returns the earliest time of a refusal that can be about a text as it was submitted last. A text that was refused stands in
// the composer again, where a person may submit it once more before the daemon has read that: the refusal from before is about neither
// the text nor the turn that may run then. The hook that refuses may be faster than ours, which has told of the text.
func RefusedSince(past presence.Past, dl *daemon.Delivery) (since time.Time) {
	if dl.TypedAt != nil {
		since = past.Earliest(*dl.TypedAt).Truncate(time.Millisecond) // a transcript may have its times in milliseconds
	}
	if dl.HeardAt != nil {
		if heard := past.Earliest(*dl.HeardAt).Add(-TwinWithin); heard.After(since) {
			return heard
		}
	}
	return since
}

// refusalOf is [Refusal] in the transcript of the text's agent.
func refusalOf(d *Courier, a *daemon.Agent, dl *daemon.Delivery) (why string) {
	return Refusal(dl, d.RuntimeOf(a), sight.TranscriptTail(a), RefusedSince(d.Facts().Past, dl))
}

// heardLook is how long the lane waits between the first looks at whether the transcript has a heard text.
const heardLook = 25 * time.Millisecond

// decideHeard gives a heard text its verdict. The transcript proves that the runtime has taken it. Until then another hook of the prompt
// may still run. left is how long the daemon waits if no turn runs. A transcript that nobody can read proves nothing, so the hook stands.
func decideHeard(ctx context.Context, d *Courier, a *daemon.Agent, dl *daemon.Delivery, left time.Duration) (bool, time.Duration, error) {
	if left <= 0 && a.State == daemon.Working {
		left = d.TimeLeft(*dl.TypedAt, promptHooks)
	}
	switch {
	case d.InTranscript(a, dl) || left <= 0 && sight.TranscriptTail(a) == nil:
		dl.Decide(daemon.Submitted, EvidenceHeard(dl.Heard), d.Now())
	case left > 0:
		heard := cmp.Or(dl.HeardAt, dl.TypedAt)
		return false, min(left, sight.Rarer(heardLook, d.TimeSpent(*heard))), nil
	default:
		CloseHeard(dl, refusalOf(d, a, dl), daemon.Unconfirmed, "ack_timeout: its runtime has told of it, and the transcript does not show that the prompt was taken", d.Now())
	}
	return d.saveDelivery(ctx, a, dl, false)
}

// EvidenceHeard is the evidence of a text that the runtime has reported as a prompt.
func EvidenceHeard(hook int64) string { return fmt.Sprintf("UserPromptSubmit, hook %d", hook) }

// readRefusal completes the report of a refusal that the transcript of an agent tells, before it is applied; rest is the transcript from
// the refusal on. ok is false if the report is none. The runtimes write the same line when no prompt was refused: Codex at the end of a
// turn in which the model was not asked, as when a person compacts the conversation, and Gemini CLI when a hook has ended a turn or held
// its end. A prompt that the transcript has was not refused, whoever gave it, and neither was one that it has behind the refusal: somebody
// has submitted it again.
func readRefusal(ctx context.Context, d *Courier, a *daemon.Agent, r runtimes.Report, p hooks.Payload, rest []byte) (runtimes.Report, bool, error) {
	rt := d.RuntimeOf(a)
	open, err := d.Store.OpenDeliveries(ctx, a.ID)
	if err != nil || takenBehind(rt, open, p, rest, d.Now()) {
		return r, false, err
	}
	body := map[string]string{"session_id": p.SessionID, "prompt_id": p.PromptID}
	taken := func(dl daemon.Delivery) bool { return RefusedPrompt(p, &dl, d.Now()) && d.InTranscript(a, &dl) } // PromptedAfter leaves out what we gave
	if p.Prompt == "" && !p.Kept && (slices.ContainsFunc(open, taken) || d.PromptedAfter(a, "", a.StateAt)) {
		body["notification_type"] = "idle_prompt"
		r.Event, r.Body = hooks.Notification, event.JSON(body)
		return r, p.PromptID != "", nil // only Codex, which names the turn, writes the line at the end of one
	}
	if p.Reason == "" && rt.Refusal != nil {
		body["reason"] = shownRefusal(ctx, d, a, rt)
		r.Body = event.JSON(body)
	}
	if rt.Can.ReturnsRefused {
		if err := clearRefused(ctx, d, a, p, open); err != nil {
			d.Log.Warn("refused text not taken out of the composer", "agent_id", a.ID, "error", err)
		}
		if again, err := submittedWithMore(ctx, d, a, p); again || err != nil {
			return r, false, err
		}
	}
	return r, true, nil
}

// submittedWithMore reports whether the hooks have told of an open text a second time, with what a person has typed behind it in the composer,
// while the refusal is about the text alone. A person who types at that moment is faster than any of the times that RefusedSince compares.
func submittedWithMore(ctx context.Context, d *Courier, a *daemon.Agent, p hooks.Payload) (bool, error) {
	open, err := d.Store.OpenDeliveries(ctx, a.ID)
	for i := 0; i < len(open) && err == nil; i++ {
		dl := &open[i]
		if dl.Heard == 0 || p.Prompt == "" || !RefusedPrompt(p, dl, d.Now()) || !runtimes.MatchesPrompt(dl.Text, p.Prompt) {
			continue
		}
		hook, err := d.Store.StoredHook(ctx, dl.Heard)
		if errors.Is(err, daemon.ErrNotFound) {
			continue
		}
		if err != nil {
			return false, err
		}
		if heard, err := hooks.Parse(hook.Event, hook.Body); err == nil && !runtimes.MatchesPrompt(dl.Text, heard.Prompt) {
			return true, nil
		}
	}
	return false, err
}

// takenBehind reports whether rest, the transcript from a refusal on, shows that the agent took the refused prompt after all, or will take
// the text of an open delivery in it out of its queue. The order of the lines tells that also if the clock has stepped.
func takenBehind(rt *runtimes.Runtime, open []daemon.Delivery, p hooks.Payload, rest []byte, now time.Time) bool {
	return rt.TranscriptHasPrompt(rest, p.Prompt, nil) || p.Prompt != "" && slices.ContainsFunc(open, func(dl daemon.Delivery) bool {
		waits := func(prompt string) bool { return Carries(prompt, &dl) }
		return RefusedPrompt(p, &dl, now) && (rt.TranscriptContains(rest, dl.Nonce) || slices.ContainsFunc(rt.Queued(rest), waits))
	})
}

// shownRefusal waits a moment until the screen of an agent shows why a hook has refused its newest prompt; "": it does not show it.
func shownRefusal(ctx context.Context, d *Courier, a *daemon.Agent, rt *runtimes.Runtime) string {
	for until := time.Now().Add(time.Second); a.HasPane() && time.Now().Before(until); {
		s, err := d.ReadScreen(ctx, a)
		if err != nil {
			return ""
		}
		if why := rt.Refusal(runtimes.View{Text: s.Text}); why != "" {
			return why
		}
		if !lane.Ticked(ctx, time.After(50*time.Millisecond)) {
			return ""
		}
	}
	return ""
}

// clearRefused takes a text that another hook has refused, and that the daemon has typed, out of the composer, in which the runtime
// has put it back. Otherwise the next text would be glued behind it. It touches no text that a person has typed.
func clearRefused(ctx context.Context, d *Courier, a *daemon.Agent, p hooks.Payload, open []daemon.Delivery) error {
	for i := 0; a.HasPane() && i < len(open); i++ {
		dl := &open[i]
		if !RefusedPrompt(p, dl, d.Now()) {
			continue
		}
		term, err := d.TerminalOf(a)
		if err != nil {
			return err
		}
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		var failed error // one look may fail: nobody looks again once the text has its verdict
		for until, seen := time.Now().Add(time.Second), false; time.Now().Before(until); {
			s, err := d.ReadScreen(ctx, a)
			if failed = err; seen && s.Empty() {
				return nil
			}
			mark := claude.IsPastedMark(s.Draft) && !runtimes.FitsTyped(dl.Text)
			if mine := mark || s.HoldsOnly(dl.Text, seen); mine && s.Composer && d.InFront(a) {
				if err := term.Press(ctx, a.Ref(), s.Sight(), tmux.CtrlU); err == nil {
					seen = true
				}
			}
			if !lane.Ticked(ctx, tick.C) {
				return context.Cause(ctx)
			}
		}
		if failed != nil {
			return failed
		}
	}
	return nil
}

// ReadTail takes what an agent's transcript tells and no hook of its runtime reports, such as an error that ended a turn.
func (d *Courier) ReadTail(ctx context.Context, a *daemon.Agent) (moved bool, again time.Duration, err error) {
	rt := d.RuntimeOf(a)
	if rt.Tail == nil || a.TranscriptPath == nil || a.SessionID == nil {
		return false, 0, nil
	}
	for {
		b, at, err := d.NextOfTail(a)
		if err != nil || len(b) == 0 {
			return moved, 0, nil // the file may not be made yet
		}
		read := 0
		for line := range bytes.Lines(b) {
			read += len(line)
			r, ok := rt.Tail(*a.SessionID, line)
			if !ok {
				continue
			}
			if p, err := hooks.Parse(r.Event, r.Body); err == nil && p.Event == hooks.PromptRefused {
				if r, ok, err = readRefusal(ctx, d, a, r, p, b[read-len(line):]); err != nil {
					return moved, 0, err
				} else if !ok {
					continue
				}
			}
			if err := d.Report(ctx, a, r); err != nil {
				return false, 0, fmt.Errorf("agent %d: transcript: %w", a.ID, err)
			}
			moved = true
		}
		sight.NoteTail(d.Sight, a, at+int64(len(b)))
	}
}

const (
	// TwinWithin is how far apart a runtime starts two runs of one hook at most.
	TwinWithin = 2 * time.Second
)

// Refusal looks in the end of a transcript for what refuses a text; "": nothing there does. A refusal before since is about another prompt:
// see RefusedSince.
func Refusal(d *daemon.Delivery, rt *runtimes.Runtime, jsonl []byte, since time.Time) (why string) {
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
func CloseHeard(d *daemon.Delivery, refusal string, v daemon.Verdict, evidence string, now time.Time) {
	if refusal != "" {
		v, evidence = daemon.NotSubmitted, refusal
	}
	d.Decide(v, evidence, now)
}

// RefusedPrompt reports whether a refusal that came at the time at is about the text of a delivery. A hook may have the runtime leave out
// the prompt.
func RefusedPrompt(p hooks.Payload, dl *daemon.Delivery, at time.Time) bool {
	if dl.State != daemon.DeliveryTyping && dl.State != daemon.DeliveryTyped {
		return false
	}
	if p.Prompt == "" { // a server that refuses a text tells of no prompt before, and it may refuse an earlier text twice
		return dl.Heard != 0 || dl.Way == runtimes.ByServer && dl.TypedAt != nil && !at.Before(*dl.TypedAt)
	}
	return Carries(p.Prompt, dl)
}

// RefusalWords says that another hook has refused a prompt, without a full stop.
func RefusalWords(reason string) string {
	return "another hook refused the prompt: " + words.Quote(words.Clip(words.Line(cmp.Or(reason, "it gave no reason")), daemon.MaxTrouble))
}

// Carries reports whether a submitted prompt is or contains the text of a delivery.
func Carries(prompt string, dl *daemon.Delivery) bool {
	if dl.Nonce != "" {
		return strings.Contains(prompt, dl.Nonce)
	}
	return runtimes.MatchesPrompt(prompt, dl.Text)
}
