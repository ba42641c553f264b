package api

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/personas"
)

func TestAgents(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	slug := h.persona()

	made := value(h.client.CreateAgent(ctx, agents.NewAgent{Persona: slug, Cwd: "/", Name: "first"}))(t)
	if made.ID == 0 || made.Name != "first" || made.PersonaSlug() != slug || made.Generation != 1 {
		t.Errorf("new agent: %+v", made)
	}
	for want, in := range map[string]agents.NewAgent{
		"unknown_persona": {Persona: "developer-none-1", Cwd: "/"},
		"unknown_runtime": {Runtime: "emacs", Cwd: "/"},
		"bad_directory":   {Cwd: "/nowhere/at/all"},
	} {
		refused(h.client.CreateAgent(ctx, in))(t, daemon.KindUnprocessable, want, "")
	}

	bare := h.agent(away)
	if got := value(h.client.Agent(ctx, bare.ID))(t); got.ID != bare.ID || got.Host != "elsewhere" || got.Persona != nil {
		t.Errorf("agent: %+v", got)
	}
	refused(h.client.Agent(ctx, 9999))(t, daemon.KindNotFound, "agent_not_found", "Agent not found")

	second := h.agent(away)
	over := h.agent(func(a *daemon.Agent) { away(a); ended(a) })
	active := value(h.client.Agents(ctx, ListOptions{State: "active", Limit: 2}))(t)
	if len(active) != 2 || active[0].ID != second.ID || active[1].ID != bare.ID {
		t.Errorf("the two newest active agents: %+v", active)
	}
	older := value(h.client.Agents(ctx, ListOptions{State: "idle", Before: second.ID}))(t)
	if len(older) != 1 || older[0].ID != bare.ID {
		t.Errorf("idle agents before %d: %+v", second.ID, older)
	}
	if none := value(h.client.Agents(ctx, ListOptions{Persona: "developer-none-1"}))(t); none == nil || len(none) != 0 {
		t.Errorf("agents of nobody: %#v, want an empty list", none)
	}

	named := value(h.client.AssignPersona(ctx, bare.ID, slug))(t)
	equal(t, "persona", named.PersonaSlug(), slug)
	refused(h.client.AssignPersona(ctx, bare.ID, slug))(t, daemon.KindConflict, "agent_has_persona", "")
	refused(h.client.AssignPersona(ctx, second.ID, "Nobody"))(t, daemon.KindUnprocessable, "unknown_persona", "")

	stopped := h.mainDoor().do("POST", at("agents", second.ID, "/stop"), `{"force": true}`)
	equal(t, "stop", stopped.status, 202)
	refused(h.client.StopAgent(ctx, over.ID, false))(t, daemon.KindInvalid, "agent_not_active", "Agent is not active")
	refused(h.client.ResumeAgent(ctx, over.ID))(t, daemon.KindConflict, "no_session", "")
	session := "5c6b4a3e-0000-4000-8000-000000000001"
	again := h.agent(func(a *daemon.Agent) { ended(a); a.SessionID, a.Persona = &session, &slug })
	next := value(h.client.ResumeAgent(ctx, again.ID))(t)
	if next.PreviousAgentID == nil || *next.PreviousAgentID != again.ID || next.Generation != 2 {
		t.Errorf("resumed agent: %+v", next)
	}
	goesOn := h.agent(func(a *daemon.Agent) { ended(a); a.SessionID = &session })
	h.agent(func(a *daemon.Agent) { away(a); a.PreviousAgentID = &goesOn.ID }) // which lives as long as the test
	done := value(h.client.ResumeAgents(ctx, goesOn.ID, over.ID, 999))(t)
	for i, code := range []daemon.Code{"no_session", "agent_resumed", "agent_not_found"} { // in the order of the ids
		if len(done) != 3 || done[i].Started != nil || done[i].Error == nil || done[i].Error.Code != code {
			t.Errorf("resumptions %+v, want %s as number %d", done, code, i)
		}
	}
	for _, one := range value(h.client.ResumeAgents(ctx))(t) { // all that died
		if one.AgentID == goesOn.ID || one.AgentID == over.ID {
			t.Errorf("resumption %+v: it did not die, or its work goes on", one)
		}
	}
	for _, path := range []string{"/api/agents/resume", "/api/agents/dismiss"} {
		equal(t, path, h.mainDoor().do("POST", path, `{"ids": []}`).status, 400)
	}
	dead := h.agent(died)
	if got := value(h.client.DismissAgent(ctx, dead.ID))(t); got.DismissedAt == nil {
		t.Errorf("dismissed: %+v", got)
	}
	equal(t, "dismissed", len(value(h.client.DismissAgents(ctx, []int64{dead.ID, over.ID}))(t)), 2)
	failed(h.client.DismissAgents(ctx, []int64{over.ID, 999}))(t, "an unknown agent is dismissed", "not found")
}

func TestScreen(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	a := h.agent(nil)
	h.tmux.SetScreen(a.Ref(), "\x1b[1;31mred\x1b[0m & <b>")
	equal(t, "as HTML", value(h.client.Screen(ctx, a.ID, "html"))(t), `<pre class="screen"><span class="bold f1">red</span> &amp; &lt;b&gt;</pre>`+"\n")
	h.tmux.SetScreen(a.Ref(), "plain & <b>")
	text := h.mainDoor().do("GET", at("agents", a.ID, "/screen"), "")
	if string(text.body) != "plain & <b>" || text.header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("as text: %q, %s", text.body, text.header.Get("Content-Type"))
	}
	if text.header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(text.header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("a browser may make more of it: %v", text.header)
	}
	bare := h.agent(func(a *daemon.Agent) { a.Pane = nil })
	refused(h.client.Screen(ctx, bare.ID, "text"))(t, daemon.KindInvalid, "agent_no_pane", "Agent has no tmux pane")
}

func TestMessages(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	a := h.agent(away)
	first := value(h.client.SendMessage(ctx, a.ID, "look at main.go\nplease", false))(t)
	if first.AgentID != a.ID || first.Kind != daemon.KindMessage || first.State != daemon.DeliveryQueued {
		t.Errorf("delivery: %+v", first)
	}
	raw := h.mainDoor().do("POST", at("agents", a.ID, "/messages"), `{"text": "/compact", "command": true}`)
	equal(t, "command", raw.status, 202)
	refused(h.client.SendMessage(ctx, a.ID, "/compact", false))(t, daemon.KindUnprocessable, "text_is_command", "")
	refused(h.client.SendMessage(ctx, a.ID, strings.Repeat("x", 64<<10+1), false))(t, daemon.KindTooLarge, "text_too_long", "")
	ending := h.agent(func(a *daemon.Agent) { away(a); now := time.Now(); a.StopAskedAt = &now })
	refused(h.client.SendMessage(ctx, ending.ID, "one more thing", false))(t, daemon.KindConflict, "agent_stopping", "Agent was asked to stop")
	list := value(h.client.Messages(ctx, a.ID, ListOptions{}))(t)
	if len(list) != 2 || list[1].ID != first.ID || list[1].Text != first.Text {
		t.Errorf("deliveries: %+v", list)
	}
	if page := value(h.client.Messages(ctx, a.ID, ListOptions{Limit: 1, Before: list[0].ID}))(t); len(page) != 1 || page[0].ID != first.ID {
		t.Errorf("second page: %+v", page)
	}
	refused(h.client.Messages(ctx, 9999, ListOptions{}))(t, daemon.KindNotFound, "agent_not_found", "Agent not found")
}

func TestHandoffs(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	slug := h.persona()
	a := h.agent(func(a *daemon.Agent) { away(a); a.Persona = &slug })

	refused(h.client.LatestHandoff(ctx, a.ID))(t, daemon.KindNotFound, "handoff_not_found", "")
	raw := h.mainDoor().do("POST", at("agents", a.ID, "/handoff"), `{"reason": "context full", "focus": "tests"}`)
	var begun Initiated
	if err := json.Unmarshal(raw.body, &begun); err != nil || raw.status != 200 || begun.Status != "initiated" {
		t.Fatalf("handoff: %d %s", raw.status, raw.body)
	}
	got := value(h.client.Handoff(ctx, begun.HandoffID))(t)
	if got.Ref != begun.Ref || got.FilePath != begun.FilePath || got.Reason != "context full" || got.Focus != "tests" || got.Status != daemon.StatusPending || got.Mode != daemon.ModeAgent {
		t.Errorf("handoff: %+v", got)
	}
	if got.Warnings == nil || got.Metrics.Phases == nil {
		t.Errorf("warnings and times must not be null: %+v", got)
	}
	equal(t, "latest", value(h.client.LatestHandoff(ctx, a.ID))(t).ID, got.ID)
	refused(h.client.RequestHandoff(ctx, a.ID, handoffs.HandoffRequest{}))(t, daemon.KindConflict, "handoff_in_progress", "Handoff already in progress")
	refused(h.client.RetryHandoff(ctx, got.ID, "magic"))(t, daemon.KindInvalid, "bad_mode", "")
	refused(h.client.RetryHandoff(ctx, got.ID, daemon.ModeGenerate))(t, daemon.KindConflict, "handoff_not_failed", "")

	for _, list := range [][]daemon.Handoff{
		value(h.client.Handoffs(ctx, ListOptions{Persona: slug, Status: "pending"}))(t),
		value(h.client.PersonaHandoffs(ctx, slug, ListOptions{Limit: 5}))(t),
	} {
		if len(list) != 1 || list[0].ID != got.ID {
			t.Errorf("list: %+v", list)
		}
	}
	refused(h.client.PersonaHandoffs(ctx, "developer-none-1", ListOptions{}))(t, daemon.KindNotFound, "persona_not_found", "Persona not found")

	refused(h.client.Document(ctx, got.ID))(t, daemon.KindNotFound, "document_missing", "")
	must(t, os.MkdirAll(filepath.Dir(got.FilePath), 0o700))
	must(t, os.WriteFile(got.FilePath, []byte("# What Was Done\n\nAll.\n"), 0o600))
	document := h.mainDoor().do("GET", at("handoffs", got.ID, "/document"), "")
	if string(document.body) != "# What Was Done\n\nAll.\n" || document.header.Get("Content-Type") != "text/markdown; charset=utf-8" {
		t.Errorf("document: %q, %s", document.body, document.header.Get("Content-Type"))
	}
	refused(h.client.ContextFile(ctx, got.ID))(t, daemon.KindNotFound, "context_missing", "")

	cancelled := value(h.client.CancelHandoff(ctx, a.ID, 0))(t)
	if cancelled.Status != daemon.StatusCancelled || cancelled.Phase != daemon.Cancelled {
		t.Errorf("cancelled: %+v", cancelled)
	}
	refused(h.client.CancelHandoff(ctx, a.ID, 0))(t, daemon.KindConflict, "handoff_ended", "")
	moves := value(h.client.Transitions(ctx, got.ID))(t)
	if len(moves) == 0 || moves[len(moves)-1].To != daemon.Cancelled {
		t.Errorf("transitions: %+v", moves)
	}
	refused(h.client.Transitions(ctx, 9999))(t, daemon.KindNotFound, "handoff_not_found", "Handoff not found")
}

func TestHandoffRefusals(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	slug := h.persona()
	for code, row := range map[string]struct {
		sentence string
		change   func(*daemon.Agent)
	}{
		"agent_not_active": {"Agent is not active", ended},
		"agent_no_persona": {"Agent has no persona", nil},
		"agent_no_pane":    {"Agent has no tmux pane", func(a *daemon.Agent) { a.Persona, a.Pane = &slug, nil }},
	} {
		refused(h.client.RequestHandoff(ctx, h.agent(row.change).ID, handoffs.HandoffRequest{}))(t, daemon.KindInvalid, code, row.sentence)
	}
	refused(h.client.RequestHandoff(ctx, 9999, handoffs.HandoffRequest{}))(t, daemon.KindNotFound, "agent_not_found", "Agent not found")
}

func TestPersonas(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	raw := h.mainDoor().do("POST", "/api/personas", `{"role": "site-reliability", "name": "ann", "description": "Keeps it up.", "skill": "Be calm."}`)
	var made FullPersona
	if err := json.Unmarshal(raw.body, &made); err != nil || raw.status != 201 || made.Slug != "site-reliability-ann-1" {
		t.Fatalf("new persona: %d %s", raw.status, raw.body)
	}
	second := value(h.client.CreatePersona(ctx, personas.New{Role: "site-reliability", Name: "ann"}))(t)
	list := value(h.client.Personas(ctx, false))(t)
	if len(list) != 2 || list[0].Slug != made.Slug || list[1].Slug != second.Slug || list[0].Description != "Keeps it up." {
		t.Errorf("list: %+v", list)
	}
	one := value(h.client.Persona(ctx, made.Slug))(t)
	if !strings.Contains(one.Skill, "Be calm.") || !strings.Contains(one.SkillFile, "name: "+made.Slug) || one.Problem != nil || one.ModifiedAt == nil {
		t.Errorf("persona: %+v", one)
	}
	if put := value(h.client.ArchivePersona(ctx, made.Slug))(t); !put.Archived {
		t.Errorf("archived: %+v", put)
	}
	if rest := value(h.client.Personas(ctx, false))(t); len(rest) != 1 || rest[0].Slug != second.Slug {
		t.Errorf("in use: %+v", rest)
	}
	if away := value(h.client.Personas(ctx, true))(t); len(away) != 1 || away[0].Slug != made.Slug {
		t.Errorf("archived: %+v", away)
	}
	if renamed := value(h.client.RenamePersona(ctx, second.Slug, "site-reliability-eva-1"))(t); renamed.Slug != "site-reliability-eva-1" || strings.Join(renamed.Former, " ") != second.Slug {
		t.Errorf("renamed: %+v", renamed)
	}
	refused(h.client.RenamePersona(ctx, second.Slug, "site-reliability-eva-2"))(t, daemon.KindNotFound, "persona_not_found", "")
	third := value(h.client.CreatePersona(ctx, personas.New{Role: "site-reliability", Name: "ann"}))(t)
	h.agent(func(a *daemon.Agent) { away(a); a.Persona = &third.Slug })
	refused(h.client.RenamePersona(ctx, third.Slug, "site-reliability-ada-1"))(t, daemon.KindConflict, "persona_played", "")
	refused(h.client.CreatePersona(ctx, personas.New{Role: "../x", Name: "a"}))(t, daemon.KindInvalid, "invalid_role", "")
	refused(h.client.CreatePersona(ctx, personas.New{Role: "x", Name: "a-b"}))(t, daemon.KindInvalid, "invalid_name", "")
	for _, slug := range []string{"nobody-x-1", "..", "%2e%2e", "..%2f..%2fetc", "a%00b", "%ff"} {
		got := h.mainDoor().do("GET", "/api/personas/"+slug, "")
		equal(t, "persona", got.status, 404)
		if got := h.mainDoor().do("DELETE", "/api/personas/"+slug, ""); got.status != 404 && got.status != 405 {
			t.Errorf("archive of persona %q: %d %s", slug, got.status, got.body)
		}
	}
}

func TestHooks(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	// The hook command sends its hooks with this client.
	envelope := hooks.Envelope{Key: hooks.NewKey(time.Now()), Event: hooks.SessionStart, At: time.Now(), Launch: "secret",
		Body: json.RawMessage(`{"hook_event_name": "SessionStart", "session_id": "5c6b4a3e-0000-4000-8000-000000000009", "cwd": "/", "source": "startup", "new_in_2.2": [1]}`)}
	h.launched("secret", "before", nil)
	for range 2 { // the second time the same hook comes again
		value(hooks.Send(ctx, h.hook, envelope))(t)
	}
	agents := value(h.client.Agents(ctx, ListOptions{}))(t)
	if len(agents) != 1 || agents[0].SessionID == nil || *agents[0].SessionID != "5c6b4a3e-0000-4000-8000-000000000009" {
		t.Errorf("agents: %+v", agents)
	}
	door := h.hookDoor().with(hookKeyHeader, hooks.NewKey(time.Now()))
	if got := door.do("POST", "/hooks/notification", ""); got.status != 200 || got.header.Get("Content-Length") != "0" {
		t.Errorf("a hook that answers nothing: %d %q %v", got.status, got.body, got.header)
	}
	for _, bad := range []struct {
		what, path, body, code string
		header                 [2]string
	}{
		{"event", "/hooks/no_such", "{}", "unknown_event", [2]string{}},
		{"key", "/hooks/Stop", "{}", "invalid_header", [2]string{hookKeyHeader, "a b"}},
		{"pid", "/hooks/Stop", "{}", "invalid_header", [2]string{agentPIDHeader, "-1"}},
		{"large pid", "/hooks/Stop", "{}", "invalid_header", [2]string{agentPIDHeader, "99999999999"}},
		{"start", "/hooks/Stop", "{}", "invalid_header", [2]string{agentStartHeader, "-1"}},
		{"time", "/hooks/Stop", "{}", "invalid_header", [2]string{hookAtHeader, "today"}},
		{"list", "/hooks/Stop", "[]", "invalid_json", [2]string{}},
		{"null", "/hooks/Stop", "null", "invalid_json", [2]string{}},
		{"half", "/hooks/Stop", `{"a":`, "invalid_json", [2]string{}},
		{"bad UTF-8", "/hooks/Stop", "{\"a\":\"\xff\"}", "invalid_utf8", [2]string{}},
		{"wrong type", "/hooks/Stop", `{"session_id": 7}`, "bad_hook", [2]string{}},
	} {
		d := door
		if bad.header[0] != "" {
			d = d.with(bad.header[0], bad.header[1])
		}
		d.do("POST", bad.path, bad.body).wants(t, bad.what, 400, bad.code)
	}
	h.hookDoor().do("POST", "/hooks/Stop", "{}").wants(t, "without a key", 400, "invalid_header")
	large := `{"a": "` + strings.Repeat("x", maxBody) + `"}`
	door.do("POST", "/hooks/Stop", large).wants(t, "too large", 413, "body_too_large")
}

func TestHealth(t *testing.T) {
	t.Parallel()
	h, ctx := buildOnPostgres(t, nil), t.Context()
	equal(t, "health", value(h.client.Health(ctx))(t), Health{"ok", "1.2.3"})
	equal(t, "ready", value(h.client.Ready(ctx))(t), Health{"ready", "1.2.3"})
	equal(t, "description", h.mainDoor().do("GET", "/api/openapi.yaml", "").body, openAPI)
	h.tmux.Fail(context.DeadlineExceeded)
	h.mainDoor().do("GET", "/readyz", "").wants(t, "without tmux", 503, "tmux_unavailable")
	h.tmux.Fail(nil)
	equal(t, "ready again", value(h.client.Ready(ctx))(t).Status, "ready")
	h.away()
	h.mainDoor().do("GET", "/readyz", "").wants(t, "without a database", 503, "database_unavailable")
	h.mainDoor().do("GET", "/api/agents", "").wants(t, "agents without a database", 500, "internal")
	equal(t, "logs of an internal error", strings.Count(h.log.String(), "route=/api/agents"), 1)
	if strings.Contains(h.log.String(), "route=/readyz") {
		t.Error("not being ready was logged as a fault")
	}
}
