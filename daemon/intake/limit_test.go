package intake

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/hooks"
)

// limited is an agent whose turn has just ended with a usage limit that ends in two hours.
func limited(t *testing.T) *hooked {
	t.Helper()
	h := hookedAgent(t)
	h.fails("usage_limit", "You've hit your limit")
	if a := h.agent; a.State != daemon.Limited || a.Limit == nil || a.Limit.Kind != daemon.LimitUsage || a.Limit.Do != daemon.LimitUndecided {
		t.Fatalf("agent is %s with limit %+v", a.State, a.Limit)
	}
	until := h.at.Add(2 * time.Hour)
	h.agent.Limit.Until, h.agent.LimitedUntil = &until, &until
	return h
}

// unlimited fails unless the agent has this state, and no limit any more.
func (h *hooked) unlimited(when string, state daemon.AgentState) {
	h.t.Helper()
	if a := h.agent; a.State != state || a.Limit != nil || a.LimitedUntil != nil {
		h.t.Errorf("%s the agent is %s until %v with limit %+v", when, a.State, a.LimitedUntil, a.Limit)
	}
}

func TestLimitEndsWithAGoodTurn(t *testing.T) {
	t.Parallel()
	h := limited(t)
	h.gets("Notification", map[string]any{"notification_type": "idle_prompt"})
	equal(t, "the reminder that the agent is idle has made it", h.agent.State, daemon.Limited)
	h.gets("UserPromptSubmit", map[string]any{"prompt": "on", "prompt_id": "p"})
	if a := h.agent; a.State != daemon.Working || a.LimitedUntil != nil || a.Limit == nil || a.Limit.TriedAt == nil || a.LimitTriedAt == nil {
		t.Errorf("in its next turn the agent is %s until %v with limit %+v", a.State, a.LimitedUntil, a.Limit)
	}
	h.gets("Stop", map[string]any{})
	agents.GoToRest(h.daemon().Supervisor, h.agent, false)
	h.unlimited("after a good turn", daemon.Idle)
}

// TestLimitThatLastsKeepsItsDecision: a person tries before the reset, in vain: what was decided stays, and the wait is not
// counted. A try after the reset is another limit.
func TestLimitThatLastsKeepsItsDecision(t *testing.T) {
	t.Parallel()
	h := limited(t)
	h.agent.Limit.Do, h.agent.Limit.By = daemon.LimitWait, daemon.LimitByPolicy
	since := h.agent.Limit.Since
	h.fails("usage_limit", "You've hit your limit")
	if l := h.agent.Limit; l.Do != daemon.LimitWait || l.Waits != 0 || !l.Since.Equal(since) || l.TriedAt != nil || l.Until == nil {
		t.Errorf("limit %+v after a try in vain", l)
	}
	h.at = h.at.Add(3 * time.Hour)
	h.fails("usage_limit", "You've hit your limit")
	if l := h.agent.Limit; l.Do != daemon.LimitUndecided || l.Waits != 1 || l.Until != nil || l.Since.Equal(since) {
		t.Errorf("limit %+v after a try when it was over", l)
	}
	h.fails("overloaded", "API Error: 529")
	h.unlimited("after another error", daemon.Idle)
}

// TestLimitOfAnotherSession: after /clear there is no task that could go on.
func TestLimitOfAnotherSession(t *testing.T) {
	t.Parallel()
	h := limited(t)
	old := "old"
	h.agent.SessionID = &old
	h.gets("SessionStart", map[string]any{"session_id": "new", "source": "clear"})
	h.unlimited("after /clear", daemon.Idle)
}

func TestLimitKinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		error, text string
		want        daemon.LimitKind
	}{
		{"rate_limit", "You've hit your 5-hour limit · resets 7:08am (UTC)", daemon.LimitUsage},
		{"usage_limit", "", daemon.LimitUsage},
		{"rate_limit", "API Error: Request rejected (429)", ""},
		{"invalid_request", "Prompt is too long", daemon.LimitContext},
		{"context_window_exceeded", "Codex ran out of room in the model's context window", daemon.LimitContext},
		{"server_error", "API Error: 500", ""},
		{"authentication_failed", "Please run /login", ""},
	} {
		h := hookedAgent(t)
		h.fails(c.error, c.text)
		got := daemon.LimitKind("")
		if h.agent.Limit != nil {
			got = h.agent.Limit.Kind
		}
		if got != c.want || (h.agent.State == daemon.Limited) != (c.want != "") {
			t.Errorf("%s %q: limit %q, agent is %s, want %q", c.error, c.text, got, h.agent.State, c.want)
		}
	}
}

// TestResetOf: what the runtime gives as a number counts before its text.
func TestResetOf(t *testing.T) {
	t.Parallel()
	d := New(engine.Config{Host: "h"})
	at := time.Date(2026, 11, 23, 5, 30, 0, 0, time.UTC)
	for body, want := range map[string]string{
		`{"error": "usage_limit", "resets_at": 1795420800, "last_assistant_message": "resets 7:08am (UTC)"}`: "2026-11-23T08:00:00Z",
		`{"error": "rate_limit", "last_assistant_message": "You've hit your limit · resets 7:08am (UTC)"}`:   "2026-11-23T07:08:00Z",
		`{"error": "usage_limit", "error_details": "resets 7:08am (UTC)"}`:                                   "2026-11-23T07:08:00Z",
		`{"error": "usage_limit", "resets_at": 5}`:                                                           "",
		`{"error": "usage_limit"}`: "",
	} {
		p := value(hooks.Parse("StopFailure", []byte(body)))(t)
		got := ""
		if r := d.resetOf(p, at); r != nil {
			got = r.Format(time.RFC3339)
		}
		equal(t, body, got, want)
	}
}

// TestLimitWords: whoever is asked is told by which commands they answer; a full window cannot be waited for.
func TestLimitWords(t *testing.T) {
	t.Parallel()
	ends := time.Date(2026, 11, 26, 10, 30, 0, 0, time.UTC)
	h := limited(t)
	for _, c := range []struct {
		limit daemon.Limit
		has   []string
		not   string
	}{
		{daemon.Limit{Kind: daemon.LimitUsage, Do: daemon.LimitAsk}, []string{"`understudy agent limit 3 --wait`", "`understudy agent limit 3 --hand-over`"}, "; "},
		{daemon.Limit{Kind: daemon.LimitUsage, Do: daemon.LimitAsk, Why: "no fallback"}, []string{"no fallback; `understudy agent limit 3 --wait`"}, "none"},
		{daemon.Limit{Kind: daemon.LimitContext, Do: daemon.LimitAsk}, []string{"`understudy agent limit 3 --hand-over`"}, "--wait"},
		{daemon.Limit{Kind: daemon.LimitAPI, Do: daemon.LimitAsk}, []string{"has it try again", "--hand-over"}, "reset"},
		{daemon.Limit{Kind: daemon.LimitUsage, Do: daemon.LimitWait, Until: &ends}, []string{"goes on by itself after the reset"}, "understudy"},
		{daemon.Limit{Kind: daemon.LimitUsage, Do: daemon.LimitWait, Since: ends}, []string{"does not say when the limit ends, so it tries again by itself at Nov 26 11:30 UTC"}, "after the reset"},
	} {
		h.agent.Limit = &c.limit
		words := views.LimitWords(h.agent)
		holds(t, fmt.Sprintf("%+v", c.limit), words, c.has...)
		if strings.Contains(words, c.not) {
			t.Errorf("%+v: %q has %q", c.limit, words, c.not)
		}
		equal(t, "the hint about its trouble is", views.TroubleHint(h.agent), words)
	}
}

// TestInterruptKeepsALimitThatStands: a person interrupts a limited agent, or the turn that they began before the reset. The
// limit stands, with what was decided about it.
func TestInterruptKeepsALimitThatStands(t *testing.T) {
	t.Parallel()
	h := limited(t)
	h.agent.Limit.Do, h.agent.Limit.By = daemon.LimitWait, daemon.LimitByPolicy
	wants := func(when string) {
		t.Helper()
		a := h.agent
		if l := a.Limit; a.State != daemon.Limited || l == nil || l.TriedAt != nil || l.Do != daemon.LimitWait || a.LimitedUntil == nil || !a.LimitedUntil.Equal(*l.Until) {
			t.Errorf("%s the agent is %s until %v with limit %+v", when, a.State, a.LimitedUntil, l)
		}
	}
	h.gets("Interrupt", map[string]any{})
	wants("without a turn")
	h.gets("UserPromptSubmit", map[string]any{"prompt": "on", "prompt_id": "p"})
	h.gets("Interrupt", map[string]any{"prompt_id": "p"})
	wants("after a turn before the reset")
	h.at = h.at.Add(3 * time.Hour)
	h.gets("UserPromptSubmit", map[string]any{"prompt": "on", "prompt_id": "q"})
	h.gets("Interrupt", map[string]any{"prompt_id": "q"})
	if a := h.agent; a.State != daemon.Idle || a.LimitedUntil != nil {
		t.Errorf("after a turn after the reset the agent is %s until %v with limit %+v", a.State, a.LimitedUntil, a.Limit)
	}
}

// TestLimitIsOverWhenTheModelAnswers: the model calls a tool before the reset, so there is no limit any more. An interrupt
// then leaves an idle agent.
func TestLimitIsOverWhenTheModelAnswers(t *testing.T) {
	t.Parallel()
	h := limited(t)
	h.gets("UserPromptSubmit", map[string]any{"prompt": "on", "prompt_id": "p"})
	h.gets("PermissionRequest", map[string]any{"prompt_id": "p", "tool_name": "Bash", "tool_input": map[string]any{"command": "ls"}})
	h.unlimited("in the dialog", daemon.Waiting)
	h.gets("Interrupt", map[string]any{"prompt_id": "p"})
	h.unlimited("after the dialog", daemon.Idle)
}
