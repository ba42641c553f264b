package intake

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/hooks"
)

// typed gives the agent, which is one of Claude Code, a text that was typed and of which no hook has come.
func (h *hooked) typed(kind daemon.DeliveryKind, text string) *daemon.Delivery {
	at := h.at
	dl := &daemon.Delivery{ID: 4, AgentID: h.agent.ID, Kind: kind, State: daemon.DeliveryTyped, TypedAt: &at, Way: runtimes.ByTyping, Text: text}
	if strings.HasPrefix(text, "[ref]") {
		dl.Nonce = "[ref]"
	}
	h.agent.Runtime, h.deliveries = "claude", []*daemon.Delivery{dl}
	return dl
}

// TestTurnOfAHeardInstructionFails: the end of a turn proves that its prompt was taken, also an end with an error, which may come before
// the transcript was looked at. The handoff fails with that error, instead of waiting for the end of a turn that has ended.
func TestTurnOfAHeardInstructionFails(t *testing.T) {
	t.Parallel()
	h := hookedAgent(t)
	dl := h.typed(daemon.KindInstruction, "[ref] hand over")
	h.handoff = &daemon.Handoff{ID: 1, Phase: daemon.Instructing, DeliveryID: &dl.ID}
	h.takes("UserPromptSubmit", map[string]any{"prompt": dl.Text, "prompt_id": "p"})
	if dl.Heard == 0 || dl.Verdict != nil || h.handoff.Confirmed {
		t.Fatalf("the delivery is %+v", dl)
	}
	h.takes("StopFailure", map[string]any{"prompt_id": "p", "error": "rate_limit", "last_assistant_message": "API Error: 429"})
	if !dl.Has(daemon.Submitted) || !h.handoff.Confirmed || h.handoff.Trouble == "" {
		t.Errorf("the delivery is %+v; trouble of the handoff: %q", dl, h.handoff.Trouble)
	}
}

// TestRefusedMessageIsTold: a message that another hook refuses is an alert, also if its agent works for a pipeline. The prompt of a step
// is none of its own: the step fails and tells.
func TestRefusedMessageIsTold(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]bool{"a message": false, "the prompt of the step": true} {
		h := hookedAgent(t)
		pipeline, step := int64(3), int64(5)
		h.agent.PipelineID, h.agent.StepID = &pipeline, &step
		dl := h.typed(daemon.KindMessage, "look at the sheds")
		if first {
			h.agent.FirstPromptID = &dl.ID
		}
		events := h.takes("PromptRefused", map[string]any{"prompt": dl.Text, "reason": "the gate is closed"})
		if len(events) == 0 || events[0].Type != event.DeliveryNotSubmitted || events[0].Alert == first {
			t.Errorf("%s: %+v", name, events)
		}
	}
}

// TestHookOfAPromptIsLate: a turn is known when the hook of a prompt comes, but the prompt was not queued behind it, so another hook may
// still refuse it. Either another turn has begun since, or it is the prompt's own: the hook of a prompt that was queued behind it names the
// same turn, and was faster.
func TestHookOfAPromptIsLate(t *testing.T) {
	t.Parallel()
	for id, heard := range map[string]bool{"late": true, "running": false, "own": true, "": true} {
		h := hookedAgent(t)
		h.agent.Runtime = "claude"
		running := map[string]any{"prompt": "something else"}
		if id != "" {
			running["prompt_id"] = "running"
		}
		if id == "own" {
			running["prompt_id"] = id
		}
		h.takes("UserPromptSubmit", running)
		if id == "" { // its runtime gives prompts no ids, and it comes out of the spool
			h.replayed, h.at = true, h.at.Add(-90*time.Second)
		}
		if id == "own" {
			h.at = h.at.Add(-90 * time.Second) // its process started first
		}
		dl := h.typed(daemon.KindMessage, "look at the sheds")
		in := map[string]any{"prompt": dl.Text}
		if id != "" {
			in["prompt_id"] = id
		}
		h.takes("UserPromptSubmit", in)
		if (dl.Heard != 0) != heard || dl.Has(daemon.Submitted) == heard {
			t.Errorf("%s: %+v", id, dl)
		}
	}
}

// TestStopOfAnotherPrompt: a person's prompt came behind a text that another hook may still have refused. The Stop that comes then may be
// that of the person's prompt, so it does not prove the text.
func TestStopOfAnotherPrompt(t *testing.T) {
	t.Parallel()
	for _, behind := range []string{"", "another's", "another's, without an id", "another's, without an id, stored before"} {
		h := hookedAgent(t)
		h.at = time.Now().Add(-time.Hour)
		dl := h.typed(daemon.KindSkill, "[ref] you play con")
		id := func(name string) map[string]any {
			if strings.Contains(behind, "without") {
				return map[string]any{}
			}
			return map[string]any{"prompt_id": name}
		}
		prompt, stop := id("p1"), id("p1")
		prompt["prompt"] = dl.Text
		others := id("p2")
		others["prompt"] = "look at the sheds"
		switch {
		case strings.Contains(behind, "before"):
			h.takes("UserPromptSubmit", others)
			h.agent.Be(daemon.Idle, h.at)
			h.replayed, h.at = true, h.at.Add(-10*time.Minute) // it waited in the spool
			h.takes("UserPromptSubmit", prompt)
			h.replayed, h.at = false, h.at.Add(10*time.Minute)
		case behind != "":
			h.takes("UserPromptSubmit", prompt)
			h.agent.Be(daemon.Idle, h.at) // the registry says so
			h.takes("UserPromptSubmit", others)
			stop = id("p2")
		default:
			h.takes("UserPromptSubmit", prompt)
		}
		h.takes("Stop", stop)
		if dl.Has(daemon.Submitted) == (behind != "") {
			t.Errorf("a Stop of %q: %+v", behind, dl)
		}
	}
}

// TestStopBehindAQueuedPrompt: the registry alone has told of the turn of a text, which another hook refuses, and another prompt is queued
// behind that turn. The hook of either may come late or never. The Stop is that of the other prompt, so it does not prove the text, and neither
// does the next Stop of that turn, if another hook has blocked the first.
func TestStopBehindAQueuedPrompt(t *testing.T) {
	t.Parallel()
	const text, other = "[ref] go on", "look at the sheds"
	for _, kind := range []daemon.DeliveryKind{daemon.KindPrompt, daemon.KindInstruction} {
		for _, told := range [][]string{{other, text}, {text, other}, {other}, {text}} {
			h := hookedAgent(t)
			h.at = time.Now().Add(-time.Hour)
			dl := h.typed(kind, text)
			dl.Attempts = 1
			h.agent.Be(daemon.Working, h.at)
			for _, prompt := range told {
				h.takes("UserPromptSubmit", map[string]any{"prompt": prompt, "prompt_id": "p1"})
			}
			h.takes("Stop", map[string]any{"prompt_id": "p2"})
			h.takes("Stop", map[string]any{"prompt_id": "p2", "stop_hook_active": true})
			if dl.Verdict != nil {
				t.Errorf("%s, told %q: the text is %s: %s", kind, told, *dl.Verdict, dl.Evidence)
			}
			if last := len(told) - 1; last > 0 && told[last] == other && h.agent.WorkStop == 0 {
				t.Errorf("%s, told %q: the end of the other prompt's turn is not the end of its own work", kind, told)
			}
		}
	}
}

// TestTextIsSubmittedAgain: another hook has refused a text, and a person submits it once more before the daemon has read that. The second
// hook of the text comes in the turn that the first has begun, and is no prompt that was queued behind it.
func TestTextIsSubmittedAgain(t *testing.T) {
	t.Parallel()
	h := hookedAgent(t)
	dl := h.typed(daemon.KindMessage, "[ref] hand over")
	h.takes("UserPromptSubmit", map[string]any{"prompt": dl.Text})
	h.takes("UserPromptSubmit", map[string]any{"prompt": dl.Text + " and look at the sheds"})
	if dl.Verdict != nil || dl.Heard != h.id || !dl.HeardAt.Equal(h.at) {
		t.Errorf("the text is %+v", dl)
	}
}

// TestHookOfARefusedPromptIsLate: the transcript has told the refusal of a person's prompt before the hook of that prompt comes out of the
// spool. No turn runs then, and the text that comes next is not queued behind one.
func TestHookOfARefusedPromptIsLate(t *testing.T) {
	t.Parallel()
	h := hookedAgent(t)
	dl := h.typed(daemon.KindSkill, "[ref] you play con")
	h.own = true
	h.takes(hooks.PromptRefused, map[string]any{"prompt": "look at the sheds", "reason": "the gate is closed"})
	h.own, h.replayed, h.at = false, true, h.at.Add(-90*time.Second)
	h.takes("UserPromptSubmit", map[string]any{"prompt": "look at the sheds"})
	equal(t, "the agent is", h.agent.State, daemon.Idle)
	h.takes("UserPromptSubmit", map[string]any{"prompt": dl.Text})
	if dl.Heard == 0 || dl.Verdict != nil {
		t.Errorf("the text is %+v", dl)
	}
}

// TestRefusalOfAnEarlierAttempt: a text that another hook has refused stands in the composer again, and a person submits it once more before
// the daemon has read the refusal. That refusal is about neither the text nor the turn that may run; the next one is. It is the same with
// what a person types. The hook that refuses may be a little faster than ours.
func TestRefusalOfAnEarlierAttempt(t *testing.T) {
	t.Parallel()
	for _, ours := range []bool{true, false} {
		h := hookedAgent(t)
		h.at, h.agent.StateAt = time.Now().Add(-time.Hour), time.Now().Add(-2*time.Hour)
		dl := h.typed(daemon.KindSkill, "[ref] you play con")
		prompt := map[string]any{"prompt": "look at the sheds"}
		if ours {
			prompt["prompt"] = dl.Text + "look at the sheds"
		}
		for _, id := range []string{"p1", "p2"} {
			prompt["prompt_id"] = id
			h.takes("UserPromptSubmit", prompt)
		}
		last := h.at
		refused := func(after time.Duration) {
			h.own, h.at = true, last.Add(after-time.Minute)
			h.takes(hooks.PromptRefused, map[string]any{"prompt": prompt["prompt"], "reason": "the gate is closed"})
		}
		refused(-30 * time.Second)
		if dl.Verdict != nil || h.agent.State != daemon.Working || h.agent.TurnError != "" {
			t.Errorf("ours %v: after the first refusal the text is %+v, the agent %s with the error %q", ours, dl, h.agent.State, h.agent.TurnError)
		}
		h.agent.StateAt = h.at
		refused(-time.Second)
		if dl.Has(daemon.NotSubmitted) != ours || h.agent.State != daemon.Idle || h.agent.TurnError == "" {
			t.Errorf("ours %v: after the second refusal the text is %+v, the agent %s with the error %q", ours, dl, h.agent.State, h.agent.TurnError)
		}
	}
}

// TestHeardPromptThatWasRefused: the transcript has the refusal of a text for which no other proof came. A refusal before the text was
// typed is about another prompt.
func TestHeardPromptThatWasRefused(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	line := fmt.Appendf(nil, `{"type":"system","subtype":"informational","timestamp":%q,"uuid":"u","content":"UserPromptSubmit operation blocked by hook:\nno\n\nOriginal prompt: look"}`+"\n", at.Format(time.RFC3339))
	for name, tt := range map[string]struct {
		jsonl []byte
		since time.Time
		want  daemon.Verdict
	}{
		"refused":             {line, at.Add(-time.Second), daemon.NotSubmitted},
		"an earlier one was":  {line, at.Add(time.Second), daemon.Submitted},
		"nothing was refused": {nil, at, daemon.Submitted},
	} {
		dl := &daemon.Delivery{State: daemon.DeliveryTyped, Heard: 9, Way: runtimes.ByTyping, Text: "look"}
		deliveries.CloseHeard(dl, deliveries.Refusal(dl, claude.Runtime, tt.jsonl, tt.since), daemon.Submitted, "", at)
		if !dl.Has(tt.want) {
			t.Errorf("%s: %s", name, *dl.Verdict)
		}
	}
}

// TestRefusedPrompt: whichever way a runtime tells that another hook has refused a prompt, the text is not submitted, with the reason,
// and its handoff learns that no turn runs. The runtimes write the same lines in other cases, which refuse nothing.
func TestRefusedPrompt(t *testing.T) {
	t.Parallel()
	const closed = "the gate is closed"
	type fields = map[string]any
	for name, c := range map[string]struct {
		runtime string
		way     runtimes.Way
		prompt  fields // what else the hook of the prompt says
		stop    bool   // a Stop comes before the report
		told    fields
		want    daemon.Verdict // "": none yet
		state   daemon.AgentState
		typed   time.Duration // after the agent's last state
	}{
		"Codex":                         {"codex", runtimes.ByTyping, fields{"prompt_id": "t"}, false, fields{"prompt_id": "t", "reason": closed}, daemon.NotSubmitted, daemon.Idle, 0},
		"Codex's queue":                 {"codex", runtimes.ByQueue, fields{"prompt_id": "t"}, false, fields{"prompt_id": "t", "reason": closed}, daemon.NotSubmitted, daemon.Idle, 0},
		"a compaction of Codex":         {"codex", runtimes.ByTyping, fields{"prompt_id": "t"}, true, fields{"prompt_id": "u"}, daemon.Submitted, daemon.Idle, 0},
		"another turn of Codex":         {"codex", runtimes.ByTyping, fields{"prompt_id": "t"}, false, fields{"prompt_id": "u"}, "", daemon.Idle, 0},
		"Gemini":                        {"gemini", runtimes.ByTyping, nil, false, fields{"reason": closed}, daemon.NotSubmitted, daemon.Idle, 0},
		"Gemini keeps it":               {"gemini", runtimes.ByTyping, nil, false, fields{"reason": closed, "kept": true}, daemon.Submitted, daemon.Idle, 0},
		"Gemini, a turn whose end held": {"gemini", runtimes.ByTyping, nil, true, fields{"reason": closed}, daemon.Submitted, daemon.Working, 0},
		"OpenCode":                      {"opencode", runtimes.ByServer, nil, false, fields{"reason": closed}, daemon.NotSubmitted, daemon.Idle, 0},
		"OpenCode, an earlier text":     {"opencode", runtimes.ByServer, nil, false, fields{"reason": closed}, "", daemon.Idle, time.Hour},
		"Claude Code":                   {"claude", runtimes.ByTyping, fields{"prompt_id": "t"}, false, fields{"prompt": "[ref] hand over", "reason": closed}, daemon.NotSubmitted, daemon.Idle, 0},
		"Claude Code, without the text": {"claude", runtimes.ByTyping, fields{"prompt_id": "t"}, false, fields{"reason": closed}, daemon.NotSubmitted, daemon.Idle, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := hookedAgent(t)
			dl, typed := h.typed(daemon.KindInstruction, "[ref] hand over"), h.at.Add(c.typed)
			h.agent.Runtime, dl.Way, dl.TypedAt = c.runtime, c.way, &typed
			h.handoff = &daemon.Handoff{ID: 1, Phase: daemon.Instructing, DeliveryID: &dl.ID}
			prompt := fields{"prompt": dl.Text}
			for k, v := range c.prompt {
				prompt[k] = v
			}
			if c.way != runtimes.ByServer { // which tells of no prompt that a plugin refuses
				h.takes("UserPromptSubmit", prompt)
			}
			if c.way != runtimes.ByServer && dl.Heard == 0 || dl.Verdict != nil || (h.agent.State == daemon.Working) != (dl.Heard != 0) {
				t.Fatalf("after the hook of its prompt the delivery is %+v and the agent is %s", dl, h.agent.State)
			}
			if c.stop {
				h.takes("Stop", prompt)
			}
			h.own = true
			h.takes(hooks.PromptRefused, c.told)
			if dl.Has(c.want) == (c.want == "") || dl.Open() != (c.want == "") || h.agent.State != c.state {
				t.Fatalf("the delivery is %+v, the agent is %s; want %s, %s", dl, h.agent.State, c.want, c.state)
			}
			keeps, fails := !c.stop && c.want == daemon.Submitted, !c.stop && c.want != ""
			if strings.Contains(h.agent.TurnError, closed) != fails || keeps == (h.handoff.Trouble == "") || strings.Contains(dl.Evidence, closed) != (c.want == daemon.NotSubmitted) {
				t.Errorf("evidence %q, the turn's error %q, the handoff's trouble %q", dl.Evidence, h.agent.TurnError, h.handoff.Trouble)
			}
		})
	}
}
