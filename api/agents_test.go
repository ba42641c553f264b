package api

import (
	"context"
	"crypto/sha256"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/limits"
	"github.com/understudyd/understudy/tmux"
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
	use := value(h.client.Agent(ctx, a.ID))(t).Context
	if use == nil || use.Tokens != 86000 || use.Limit == nil || *use.Limit != 200000 || use.Percent == nil || *use.Percent != 43 || use.Source != "statusline" {
		t.Errorf("context: %+v", use)
	}
	own.ok("POST", path, `{"session_id": "s-0", "tokens": 1, "limit": 200000}`)
	if use := value(h.client.Agent(ctx, a.ID))(t).Context; use == nil || use.Tokens != 86000 {
		t.Errorf("another session's report was taken: %+v", use)
	}
	own.refuses("POST", path, 400, map[string]string{
		`{"session_id": "s-1", "tokens": -1, "limit": 5}`:  "bad_context",
		`{"session_id": "s-1", "tokens": 1, "limit": 0}`:   "bad_context",
		`{"session_id": "s-1"}`:                            "bad_context",
		`{"session_id": "s-1", "tokens": 1.5, "limit": 5}`: "invalid_field",
		`{"session_id": "s-1", "tokens": "1"}`:             "invalid_field",
		`{"session_id": 1}`:                                "invalid_field",
		`{"tokens": 99999999999999999999}`:                 "invalid_field",
		`{"percent": 43}`:                                  "unknown_field",
		`[]`:                                               "invalid_json",
	})
	equal(t, "wrong type", own.do("POST", path, `{"tokens": true}`).shape(t, path).Error, `Field "tokens" must be an integer`)
	equal(t, "wrong type", own.do("POST", path, `{"cost_usd": true}`).shape(t, path).Error, `Field "cost_usd" must be a number`)
	equal(t, "wrong type", h.mainDoor().do("POST", "/api/agents", `{"columns": "x"}`).shape(t, path).Error, `Field "columns" must be an integer`)
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
	got := value(h.client.DecideLimit(ctx, a.ID, limits.LimitDecision{Do: daemon.LimitWait}))(t)
	if got.Limit == nil || got.Limit.Do != daemon.LimitWait || got.Limit.By != daemon.LimitByOperator || !got.LimitedUntil.Equal(until) {
		t.Errorf("decided: %+v", got.Limit)
	}
	before := value(h.store.LastEventID(ctx))(t)
	equal(t, "decided again", value(h.client.DecideLimit(ctx, a.ID, limits.LimitDecision{Do: daemon.LimitWait}))(t).Limit.Do, daemon.LimitWait)
	equal(t, "the last event after the same decision", value(h.store.LastEventID(ctx))(t), before)
	h.mainDoor().refuses("POST", path, 400, map[string]string{
		`{}`: "bad_decision", `{"do": "ask"}`: "bad_decision", `{"do": ""}`: "bad_decision",
		`{"do": "wait", "runtime": "codex"}`: "bad_decision", `{"do": 1}`: "invalid_field", `{"what": 1}`: "unknown_field",
	})
	h.mainDoor().do("POST", path, `{"do": "hand_over"}`).wants(t, "without a persona", 400, "agent_no_persona")
	idle := h.launched("idle", "s-2", nil)
	h.mainDoor().do("POST", at("agents", idle.ID, "/limit"), `{"do": "wait"}`).wants(t, "not limited", 409, "agent_not_limited")
	full := h.launched("full", "s-3", func(a *daemon.Agent) {
		a.State, a.Limit = daemon.Limited, &daemon.Limit{Kind: daemon.LimitContext, Since: until, Do: daemon.LimitAsk}
	})
	h.mainDoor().do("POST", at("agents", full.ID, "/limit"), `{"do": "wait"}`).wants(t, "a full window", 409, "nothing_to_wait_for")
	equal(t, "limited agents", len(value(h.client.Agents(ctx, ListOptions{State: "limited"}))(t)), 2)
}

// TestRename: a name that is given stays, and one that commands would misread is refused.
func TestRename(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	a := h.agent(nil)
	equal(t, "it is called", value(h.client.RenameAgent(ctx, a.ID, "cart"))(t).Name, "cart")
	before := value(h.store.LastEventID(ctx))(t)
	value(h.client.RenameAgent(ctx, a.ID, "cart"))(t)
	equal(t, "the last event after the same name", value(h.store.LastEventID(ctx))(t), before)
	path := at("agents", a.ID, "")
	h.mainDoor().refuses("PATCH", path, 400, map[string]string{
		`{"name": "7"}`: "bad_name", `{"name": "list"}`: "bad_name", `{"name": " x"}`: "bad_name", `{"name": ""}`: "bad_name", `{"name": "a\u001b[2J"}`: "bad_name",
		`{"name": "x", "persona": "y"}`: "invalid_field", `{"notify_finished": "yes"}`: "bad_notify",
	})
	for _, says := range []string{"on", "off", ""} {
		equal(t, "notify", value(h.client.NotifyWhenFinished(ctx, a.ID, says))(t).NotifyFinished, says)
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
		equal(t, "unread", value(h.client.Agent(ctx, a.ID))(t).Unread, want)
	}
	h.mainDoor().do("POST", path, `{"finished_at": "`+early.Format(time.RFC3339Nano)+`"}`)
	unread(true)
	h.mainDoor().do("POST", path, `{}`).wants(t, "no time", 400, "invalid_field")
	shown := value(h.client.Agent(ctx, a.ID))(t)
	before := value(h.store.LastEventID(ctx))(t)
	for range 2 { // two pages
		must(t, h.client.SeeAgent(ctx, &shown))
	}
	unread(false)
	equal(t, "the last event after two pages", value(h.store.LastEventID(ctx))(t), before+1)
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
	h.mainDoor().ok("POST", at("agents", a.ID, "/seen"), `{"finished_at": "`+finished.Format(time.RFC3339Nano)+`"}`)
	if got := value(h.client.Agent(t.Context(), a.ID))(t); got.Active() {
		t.Errorf("the agent has not ended: %+v", got)
	}
}

// asAgent makes the process of the test an agent's, until leave is called.
func (h *fixture) asAgent() (leave func()) {
	h.t.Helper()
	own := value(tmux.FindProcess(os.Getpid()))(h.t)
	agent := h.launched("this process", "s-2", func(a *daemon.Agent) { a.Host, a.PID, a.PIDStart = "here", own.PID, own.Start })
	return func() {
		h.t.Helper()
		now := value(h.store.Agent(h.t.Context(), agent.ID))(h.t)
		now.PID, now.PIDStart = 0, 0
		h.commit(&daemon.Change{Agents: []*daemon.Agent{&now}})
	}
}

// TestAgentsDoNotDismiss: a process of an agent is refused at the main socket. The hook socket has no route for it.
func TestAgentsDoNotDismiss(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	dead := h.agent(died)
	h.asAgent()
	h.mainDoor().do("POST", at("agents", dead.ID, "/dismiss"), `{}`).wants(t, "from an agent's process", 403, "dismiss_by_agent")
	if now := value(h.store.Agent(t.Context(), dead.ID))(t); now.DismissedAt != nil {
		t.Error("it is dismissed all the same")
	}
}
