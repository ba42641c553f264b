package api

import (
	"context"
	"crypto/sha256"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/limits"
)

// launched commits an agent with a session and the secret of a launch.
func (h *fixture) launched(secret, session string, change func(*daemon.Agent)) *daemon.Agent {
	sum := sha256.Sum256([]byte(secret))
	return h.agent(func(a *daemon.Agent) {
		away(a)
		a.LaunchHash, a.SessionID, a.Managed, a.TmuxSession = sum[:], &session, true, secret
		if change != nil {
			change(a)
		}
	})
}

func TestContextReport(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	a := h.launched("mine", "s-1", nil)
	path := at("agents", a.ID, "/context")
	own := h.hookDoor().with(launchHeader, "mine")

	got := own.do("POST", path, `{"session_id": "s-1", "tokens": 86000, "limit": 200000}`)
	if got.status != 200 || string(got.body) != "{}\n" {
		t.Errorf("report: %d %q", got.status, got.body)
	}
	use := must(h.client.Agent(ctx, a.ID))(t).Context
	if use == nil || use.Tokens != 86000 || use.Limit == nil || *use.Limit != 200000 || use.Percent == nil || *use.Percent != 43 || use.Source != "statusline" {
		t.Errorf("context: %+v", use)
	}
	if got := own.do("POST", path, `{"session_id": "s-0", "tokens": 1, "limit": 200000}`); got.status != 200 {
		t.Errorf("report of another session: %d %s", got.status, got.body)
	}
	if use := must(h.client.Agent(ctx, a.ID))(t).Context; use == nil || use.Tokens != 86000 {
		t.Errorf("another session's report was taken: %+v", use)
	}
	for body, code := range map[string]string{
		`{"session_id": "s-1", "tokens": -1, "limit": 5}`:  "bad_context",
		`{"session_id": "s-1", "tokens": 1, "limit": 0}`:   "bad_context",
		`{"session_id": "s-1"}`:                            "bad_context",
		`{"session_id": "s-1", "tokens": 1.5, "limit": 5}`: "invalid_field",
		`{"session_id": "s-1", "tokens": "1"}`:             "invalid_field",
		`{"session_id": 1}`:                                "invalid_field",
		`{"tokens": 99999999999999999999}`:                 "invalid_field",
		`{"percent": 43}`:                                  "unknown_field",
		`[]`:                                               "invalid_json",
	} {
		own.do("POST", path, body).wants(t, body, 400, code)
	}
	if body := own.do("POST", path, `{"tokens": true}`).shape(t, path); body.Error != `Field "tokens" must be an integer` {
		t.Errorf("wrong type: %q", body.Error)
	}
	h.mainDoor().do("POST", path, `{"session_id": "s-1", "tokens": 1, "limit": 5}`).wants(t, "on the main socket", 404, "not_found")
}

func TestLimit(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	a := h.launched("mine", "s-1", func(a *daemon.Agent) {
		a.State, a.LimitedUntil = daemon.Limited, &until
		a.Limit = &daemon.Limit{Kind: daemon.LimitUsage, Since: until.Add(-time.Hour), Until: &until, Do: daemon.LimitAsk, By: daemon.LimitByPolicy}
	})
	path := at("agents", a.ID, "/limit")
	got := must(h.client.DecideLimit(ctx, a.ID, limits.LimitDecision{Do: daemon.LimitWait}))(t)
	if got.Limit == nil || got.Limit.Do != daemon.LimitWait || got.Limit.By != daemon.LimitByOperator || !got.LimitedUntil.Equal(until) {
		t.Errorf("decided: %+v", got.Limit)
	}
	before := must(h.store.LastEventID(ctx))(t)
	if again := must(h.client.DecideLimit(ctx, a.ID, limits.LimitDecision{Do: daemon.LimitWait}))(t); again.Limit.Do != daemon.LimitWait {
		t.Errorf("decided again: %+v", again.Limit)
	}
	if after := must(h.store.LastEventID(ctx))(t); after != before {
		t.Error("the same decision was logged twice")
	}
	for body, code := range map[string]string{
		`{}`: "bad_decision", `{"do": "ask"}`: "bad_decision", `{"do": ""}`: "bad_decision",
		`{"do": "wait", "runtime": "codex"}`: "bad_decision", `{"do": 1}`: "invalid_field", `{"what": 1}`: "unknown_field",
	} {
		h.mainDoor().do("POST", path, body).wants(t, body, 400, code)
	}
	h.mainDoor().do("POST", path, `{"do": "hand_over"}`).wants(t, "without a persona", 400, "agent_no_persona")
	h.hookDoor().with(launchHeader, "mine").do("POST", path, `{"do": "wait"}`).wants(t, "by the agent itself", 404, "not_found")
	idle := h.launched("idle", "s-2", nil)
	h.mainDoor().do("POST", at("agents", idle.ID, "/limit"), `{"do": "wait"}`).wants(t, "not limited", 409, "agent_not_limited")
	full := h.launched("full", "s-3", func(a *daemon.Agent) {
		a.State, a.Limit = daemon.Limited, &daemon.Limit{Kind: daemon.LimitContext, Since: until, Do: daemon.LimitAsk}
	})
	h.mainDoor().do("POST", at("agents", full.ID, "/limit"), `{"do": "wait"}`).wants(t, "a full window", 409, "nothing_to_wait_for")
	if list := must(h.client.Agents(ctx, ListOptions{State: "limited"}))(t); len(list) != 2 {
		t.Errorf("limited agents: %d, want 2", len(list))
	}
}

func TestAgentClient(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	slug := h.persona()
	mine := h.launched("mine", "s-1", func(a *daemon.Agent) { a.Persona = &slug })
	other := h.launched("other", "s-2", func(a *daemon.Agent) { a.Persona = &slug })
	client := NewAgentClient(h.hook, "mine")
	defer client.Close()

	begun := must(client.RequestHandoff(ctx, mine.ID, handoffs.HandoffRequest{Mode: daemon.ModeGenerate, Focus: "tests", Force: true}))(t)
	if got := must(client.LatestHandoff(ctx, mine.ID))(t); got.ID != begun.HandoffID || got.Mode != daemon.ModeGenerate || got.Focus != "tests" {
		t.Errorf("own handoff: %+v", got)
	}
	if got := must(client.CancelHandoff(ctx, mine.ID, 0))(t); got.Status != daemon.StatusCancelled {
		t.Errorf("cancelled: %+v", got)
	}
	_, err := client.RequestHandoff(ctx, other.ID, handoffs.HandoffRequest{})
	wantError(t, err, daemon.KindForbidden, "not_your_agent", "")
	_, err = client.Handoff(ctx, begun.HandoffID)
	wantError(t, err, daemon.KindNotFound, "not_found", "")
	stranger := NewAgentClient(h.hook, "nobody's")
	defer stranger.Close()
	_, err = stranger.LatestHandoff(ctx, mine.ID)
	wantError(t, err, daemon.KindUnauthorized, "unknown_launch", "")
}

// TestWhatMayBeNull: the API shows the nullable fields of agents and handoffs, both null and set.
func TestWhatMayBeNull(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	slug := h.persona()
	unknown := &daemon.ContextUse{Tokens: 120_000, Source: "transcript"}
	limit, percent, done := int64(200_000), 76.5, "All."
	known := &daemon.ContextUse{Tokens: 153_000, Limit: &limit, Percent: &percent, Tier: daemon.TierHigh, Source: "statusline"}
	for _, use := range []*daemon.ContextUse{nil, unknown, known} {
		a := h.agent(func(a *daemon.Agent) { away(a); a.Persona, a.Context = &slug, use })
		if got := must(h.client.Agent(ctx, a.ID))(t).Context; (got == nil) != (use == nil) || got != nil && got.Tokens != use.Tokens {
			t.Errorf("context: %+v, want %+v", got, use)
		}
		id := must(h.client.RequestHandoff(ctx, a.ID, handoffs.HandoffRequest{Mode: daemon.ModeGenerate}))(t).HandoffID
		row := must(h.client.Handoff(ctx, id))(t)
		for _, phase := range []daemon.Phase{daemon.Generating, daemon.Failed} {
			full := must(h.store.Handoff(ctx, id))(t)
			from := full.Phase
			full.Phase, full.ContextUse = phase, use
			if phase == daemon.Failed {
				now := time.Now().UTC()
				full.CompletedAt, full.Structured = &now, &daemon.Structured{WhatWasDone: &done}
				full.Error = &daemon.Failure{Phase: from, Code: "generation_empty", Message: "Handoff failed: generation produced no content", Hint: "ask once more"}
			}
			h.commit(&daemon.Change{Move: &daemon.Move{Handoff: &full, From: from, Cause: "a test"}})
			row = must(h.client.Handoff(ctx, id))(t)
		}
		if row.Error == nil || row.Error.Hint != "ask once more" || row.Structured == nil || row.Structured.OpenQuestions != nil || (row.ContextUse == nil) != (use == nil) {
			t.Errorf("handoff: %+v", row)
		}
	}
}

// TestRename: a name that is given stays, and one that commands would misread is refused.
func TestRename(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	a := h.agent(nil)
	if got := must(h.client.RenameAgent(ctx, a.ID, "cart"))(t); got.Name != "cart" {
		t.Errorf("it is called %q", got.Name)
	}
	before := must(h.store.LastEventID(ctx))(t)
	must(h.client.RenameAgent(ctx, a.ID, "cart"))(t)
	if after := must(h.store.LastEventID(ctx))(t); after != before {
		t.Error("a name that it had already was logged")
	}
	path := at("agents", a.ID, "")
	for body, code := range map[string]string{
		`{"name": "7"}`: "bad_name", `{"name": "list"}`: "bad_name", `{"name": " x"}`: "bad_name", `{"name": ""}`: "bad_name", `{"name": "a\u001b[2J"}`: "bad_name",
		`{"name": "x", "persona": "y"}`: "invalid_field", `{"notify_finished": "yes"}`: "bad_notify",
	} {
		h.mainDoor().do("PATCH", path, body).wants(t, body, 400, code)
	}
	for _, says := range []string{"on", "off", ""} {
		if got := must(h.client.NotifyWhenFinished(ctx, a.ID, says))(t); got.NotifyFinished != says {
			t.Errorf("notify %q: %q", says, got.NotifyFinished)
		}
	}
}

// TestSeen: what the operator saw is not unread any more; a turn that was finished later is.
func TestSeen(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	finished := time.Now().UTC()
	a := h.agent(func(a *daemon.Agent) { a.Unread, a.FinishedAt = true, &finished })
	early := finished.Add(-time.Second)
	path := at("agents", a.ID, "/seen")
	unread := func(want bool) {
		t.Helper()
		if got := must(h.client.Agent(ctx, a.ID))(t); got.Unread != want {
			t.Errorf("unread %t, want %t", got.Unread, want)
		}
	}
	h.mainDoor().do("POST", path, `{"finished_at": "`+early.Format(time.RFC3339Nano)+`"}`)
	unread(true)
	h.mainDoor().do("POST", path, `{}`).wants(t, "no time", 400, "invalid_field")
	h.hookDoor().with(launchHeader, "mine").do("POST", path, `{}`).wants(t, "by an agent", 404, "not_found")
	shown := must(h.client.Agent(ctx, a.ID))(t)
	before := must(h.store.LastEventID(ctx))(t)
	for range 2 { // two pages
		if err := h.client.SeeAgent(ctx, &shown); err != nil {
			t.Fatal(err)
		}
	}
	unread(false)
	if after := must(h.store.LastEventID(ctx))(t); after != before+1 {
		t.Errorf("%d events, want 1", after-before)
	}
}

// endingStore ends the agent just before the first commit that notes that the operator has seen it.
type endingStore struct {
	daemon.Store
	once sync.Once
}

func (s *endingStore) Commit(ctx context.Context, c *daemon.Change) error {
	if len(c.Events) > 0 && c.Events[0].Type == event.AgentSeen {
		s.once.Do(func() {
			now, ended := time.Now().UTC(), *c.Agents[0]
			ended.State, ended.EndedAt = daemon.Ended, &now
			_ = s.Store.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{&ended}}) // if it fails, the test fails
		})
	}
	return s.Store.Commit(ctx, c)
}

// TestSeenWhileItEnds: a page that tells that an agent was seen is not refused because the agent ends at this moment.
func TestSeenWhileItEnds(t *testing.T) {
	t.Parallel()
	h := build(t, func(s *Server) { s.Daemon.Store = &endingStore{Store: s.Daemon.Store} })
	finished := time.Now().UTC()
	a := h.agent(func(a *daemon.Agent) { a.Unread, a.FinishedAt = true, &finished })
	if got := h.mainDoor().do("POST", at("agents", a.ID, "/seen"), `{"finished_at": "`+finished.Format(time.RFC3339Nano)+`"}`); got.status != 200 {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if got := must(h.client.Agent(t.Context(), a.ID))(t); got.Active() {
		t.Errorf("the agent has not ended: %+v", got)
	}
}
