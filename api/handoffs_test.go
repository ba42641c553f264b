package api

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/personas"
)

// asked asks for a handoff of an agent and returns its id.
func (h *fixture) asked(a *daemon.Agent) int64 {
	h.t.Helper()
	return value(h.client.RequestHandoff(h.t.Context(), a.ID, handoffs.HandoffRequest{}))(h.t).HandoffID
}

// TestRecordedHandoff: the API shows all fields of a handoff that failed after its record, and can retry it.
func TestRecordedHandoff(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	slug := h.persona()
	a := h.agent(func(a *daemon.Agent) { a.Persona = &slug })
	now, text, size := time.Now().UTC(), "words", int64(200_000)
	id := h.handoff(a, daemon.Failed, func(o *daemon.Handoff) {
		o.Error = &daemon.Failure{Phase: daemon.ShuttingDown, Code: "exit_failed", Message: "It stays.", Hint: "end it"}
		o.ContextPath, o.ContextChecksum, o.InjectionPrompt, o.Warnings, o.RecordedAt = &text, &text, &text, []string{"A warning."}, &now
		o.ContextUse, o.Structured = &daemon.ContextUse{Tokens: 7, Limit: &size, Source: "transcript"}, &daemon.Structured{WhatWasDone: &text}
		o.Metrics.Phases[daemon.Verifying] = 3
	}).ID
	got := value(h.client.Handoff(ctx, id))(t)
	if got.Error == nil || got.Error.Hint != "end it" || got.Structured == nil || got.ContextUse == nil || len(got.Warnings) != 1 {
		t.Errorf("handoff: %+v", got)
	}
	refused(h.client.ContextFile(ctx, id))(t, daemon.KindNotFound, "context_missing", "")
	h.mainDoor().do("GET", at("handoffs", id, "/record"), "").wants(t, "no record", 404, "record_missing")
	row := value(h.store.Handoff(ctx, id))(t)
	h.commit(&daemon.Change{
		Move: &daemon.Move{Handoff: &row, From: daemon.Failed},
		NewRecord: &daemon.Record{HandoffID: id, AgentID: a.ID, Agent: "a", Persona: slug, Document: "the document", Context: "the context", At: now,
			Decisions: []data.Decision{{Agent: "a", Summary: "slate", Timestamp: now}}, Messages: []data.Message{{Agent: "a", Role: "user", Text: "Mend it.", At: now}},
			Todos: []data.Todo{{Text: "Sweep", Status: "pending"}}},
	})
	equal(t, "context file", string(value(h.client.ContextFile(ctx, id))(t)), "the context")
	record := h.mainDoor().do("GET", at("handoffs", id, "/record"), "")
	for _, want := range []string{`"summary":"slate"`, `"references":[]`, `"text":"Mend it."`, `"todos":[{"text":"Sweep","status":"pending"}]`} {
		if record.status != 200 || !strings.Contains(string(record.body), want) || strings.Contains(string(record.body), "the document") {
			t.Errorf("record: %d %s, want %s", record.status, record.body, want)
		}
	}
	for _, kind := range []string{"document", "context"} { // the dashboard's page has the same text as the API's answer
		path := fmt.Sprintf("/ui/handoffs/%d/%s", id, kind)
		h.mainDoor().with("Accept", "text/html").ok("GET", path, "", "the "+kind)
	}
	if got = value(h.client.RetryHandoff(ctx, id, ""))(t); got.Status != daemon.StatusInProgress || got.Error != nil {
		t.Errorf("retried: %+v", got)
	}
}

// TestCancelTheHandoffThatWasShown: with an id the API cancels only that handoff.
func TestCancelTheHandoffThatWasShown(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	slug := h.persona()
	plays := func(a *daemon.Agent) { away(a); a.Persona = &slug }
	a, other := h.agent(plays), h.agent(plays)
	shown, foreign := h.asked(a), h.asked(other)
	if got := value(h.client.CancelHandoff(ctx, a.ID, shown))(t); got.ID != shown || got.Status != daemon.StatusCancelled {
		t.Errorf("cancelled: %+v", got)
	}
	refused(h.client.CancelHandoff(ctx, a.ID, foreign))(t, daemon.KindNotFound, "handoff_not_found", "Handoff not found")

	open, before := h.asked(a), value(h.store.LastEventID(ctx))(t)
	for _, id := range []int64{shown, foreign, 9999} {
		refused(h.client.CancelHandoff(ctx, a.ID, id))(t, daemon.KindConflict, "another_handoff", fmt.Sprintf("Agent %d is in handoff %d by now, not in %d: look at it again", a.ID, open, id))
	}
	for _, value := range []string{`"7"`, "1.5", "0", "-1"} {
		got := h.mainDoor().do("DELETE", at("agents", a.ID, "/handoff"), `{"handoff_id": `+value+`}`)
		got.wants(t, "handoff_id "+value, 400, "invalid_field")
	}
	unchanged(h, "cancelling another handoff", before)
	value(h.client.CancelHandoff(ctx, a.ID, open))(t)
	refused(h.client.CancelHandoff(ctx, a.ID, shown))(t, daemon.KindConflict, "handoff_ended", "Handoff has ended: it is cancelled")
}

// TestCancelARetriedHandoff: the API finds a retried handoff although its agent has a newer one.
func TestCancelARetriedHandoff(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	slug := h.persona()
	a := h.agent(func(a *daemon.Agent) { a.Persona = &slug })
	failed := h.handoff(a, daemon.Failed, nil).ID
	h.handoff(a, daemon.Cancelled, nil)
	value(h.client.RetryHandoff(ctx, failed, ""))(t)
	if got := value(h.client.CancelHandoff(ctx, a.ID, failed))(t); got.ID != failed || got.Status != daemon.StatusCancelled {
		t.Errorf("cancelled: %+v", got)
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	slug := h.persona()
	plays := func(a *daemon.Agent) { away(a); a.Persona = &slug }
	ask := func(a *daemon.Agent) int64 {
		t.Helper()
		id := h.asked(a)
		value(h.client.CancelHandoff(ctx, a.ID, 0))(t)
		return id
	}
	first := h.agent(plays)
	one, two := ask(first), ask(first)
	second := h.agent(func(a *daemon.Agent) { plays(a); a.PreviousAgentID, a.Generation = &first.ID, 2 })
	three := ask(second)
	stranger := h.agent(plays)
	four := ask(stranger)
	h.agent(func(a *daemon.Agent) { plays(a); ended(a); a.PreviousAgentID, a.Generation = &second.ID, 3 })

	for _, id := range []int64{one, two, three} {
		line := value(h.client.Line(ctx, id))(t)
		if len(line) != 3 || line[0].ID != three || line[1].ID != two || line[2].ID != one || line[0].Generation != 2 {
			t.Errorf("line of handoff %d: %+v, want %d, %d, %d", id, line, three, two, one)
		}
	}
	if line := value(h.client.Line(ctx, four))(t); len(line) != 1 || line[0].ID != four {
		t.Errorf("line of a stranger: %+v", line)
	}
	refused(h.client.Line(ctx, 9999))(t, daemon.KindNotFound, "handoff_not_found", "Handoff not found")
}

// TestGenerateIsRefusedWithoutACopy: the runtime of the agent cannot copy its session, so the request is refused at once, and
// the sentence names the mode that works.
func TestGenerateIsRefusedWithoutACopy(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	slug := h.persona()
	a := h.agent(func(a *daemon.Agent) { a.Persona, a.Runtime = &slug, "toy" })
	const sentence = "No copy of the agent's session can write the document, because its runtime toy cannot copy a session: ask the agent itself with mode agent"
	refused(h.client.RequestHandoff(ctx, a.ID, handoffs.HandoffRequest{Mode: daemon.ModeGenerate, Force: true}))(t, daemon.KindUnprocessable, "cannot_copy_session", sentence)
	equal(t, "handoffs", len(value(h.client.Handoffs(ctx, ListOptions{}))(t)), 0)
	begun := value(h.client.RequestHandoff(ctx, a.ID, handoffs.HandoffRequest{Force: true, Heirs: []daemon.Heir{{Runtime: "claude"}}}))(t)
	for moved := true; moved; { // the daemon works on it meanwhile
		row, now := value(h.store.Handoff(ctx, begun.HandoffID))(t), time.Now().UTC()
		from := row.Phase
		row.Phase, row.CompletedAt = daemon.Failed, &now
		row.Error = &daemon.Failure{Phase: daemon.Requested, Code: "document_missing", Message: "There is none"}
		err := h.store.Commit(ctx, &daemon.Change{Move: &daemon.Move{Handoff: &row, From: from, Cause: "a test"}})
		if moved = errors.Is(err, daemon.ErrMoved); !moved {
			must(t, err)
		}
	}
	refused(h.client.RetryHandoff(ctx, begun.HandoffID, daemon.ModeGenerate))(t, daemon.KindUnprocessable, "cannot_copy_session", sentence)
}

// TestHeirs: a request names its heirs in one of two ways, and each is checked.
func TestHeirs(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	slug := h.persona()
	other := value(h.client.CreatePersona(t.Context(), personas.New{Role: "reviewer", Name: "max"}))(t).Slug
	a := h.agent(func(a *daemon.Agent) { away(a); a.Persona = &slug })
	here := h.agent(func(a *daemon.Agent) { a.Persona = &slug })
	path, local := at("agents", a.ID, "/handoff"), at("agents", here.ID, "/handoff")
	many := `{"persona": "` + other + `"}` + strings.Repeat(`, {}`, 8)
	h.mainDoor().refuses("POST", path, 400, map[string]string{
		`{"to_persona": 1}`:                           "invalid_field",
		`{"keep": "yes"}`:                             "invalid_field",
		`{"to": {}}`:                                  "invalid_field",
		`{"to": [1]}`:                                 "invalid_json",
		`{"to": [{"Persona": "a-b-1"}]}`:              "unknown_field",
		`{"to": [{"persona": true}]}`:                 "invalid_field",
		`{"to": [{}], "to_persona": "` + other + `"}`: "bad_heirs",
		`{"to": [` + many + `]}`:                      "bad_heirs",
		`{"to_persona": "--x"}`:                       "bad_persona",
		`{"model": "a b"}`:                            "bad_model",
		`{"runtime": "-x"}`:                           "bad_runtime",
		`{"permission_mode": "a\u0007"}`:              "bad_permission_mode",
	})
	h.mainDoor().refuses("POST", local, 422, map[string]string{
		`{"force": true, "to_persona": "tester-nobody-9"}`:                           "unknown_persona",
		`{"force": true, "to": [{"persona": "` + other + `"}, {"runtime": "none"}]}`: "unknown_runtime",
		`{"force": true, "permission_mode": "sometimes"}`:                            "bad_permission_mode",
	})
	begun := value(h.client.RequestHandoff(t.Context(), here.ID, handoffs.HandoffRequest{Force: true, Keep: true, Heirs: []daemon.Heir{
		{Persona: other, Model: "m"}, {PermissionMode: "plan"},
	}}))(t)
	got := value(h.client.Handoff(t.Context(), begun.HandoffID))(t)
	want := []daemon.HandoffHeir{{Heir: daemon.Heir{Persona: other, Runtime: "claude", Model: "m"}}, {Heir: daemon.Heir{Persona: slug, Runtime: "claude", PermissionMode: "plan"}}}
	if !got.Keep || fmt.Sprintf("%+v", got.Heirs) != fmt.Sprintf("%+v", want) {
		t.Errorf("keep %v, heirs %+v, want %+v", got.Keep, got.Heirs, want)
	}
	// What stands beside the list holds for its members that do not say otherwise.
	body := `{"force": true, "to": [{"model": "n"}, {"persona": "` + other + `"}], "model": "m"}`
	h.mainDoor().ok("POST", path, body)
	if heirs := value(h.client.LatestHandoff(t.Context(), a.ID))(t).Heirs; len(heirs) != 2 || heirs[0].Model != "n" || heirs[1].Model != "m" || heirs[1].Persona != other {
		t.Errorf("heirs %+v", heirs)
	}
}

// TestAgentsChooseTheirHeirsWithinTheSetting: an agent that asks for its own handoff may choose what handoff.targets allows,
// and never the permission mode. The operator may choose all.
func TestAgentsChooseTheirHeirsWithinTheSetting(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		targets []string
		allowed []bool // of the requests below
	}{
		{nil, []bool{true, true, false, false, false, false}},
		{[]string{"tester-kit-1"}, []bool{true, true, false, true, true, false}},
		{[]string{"*"}, []bool{true, true, true, true, true, false}},
	} {
		h := build(t, func(s *Server) { s.Daemon.Settings().Handoff.Targets = tt.targets })
		slug := h.persona()
		other := value(h.client.CreatePersona(t.Context(), personas.New{Role: "reviewer", Name: "max"}))(t).Slug
		for i, in := range []handoffs.HandoffRequest{
			{},
			{Heirs: []daemon.Heir{{Persona: slug, Model: "m"}}},
			{Heirs: []daemon.Heir{{Persona: other}}},
			{Heirs: []daemon.Heir{{}, {}}},
			{Keep: true},
			{Heirs: []daemon.Heir{{PermissionMode: "bypassPermissions"}}},
		} {
			in.Force = true
			secret := fmt.Sprint("s", i)
			a := h.launched(secret, "session-"+secret, func(a *daemon.Agent) { a.Persona = &slug })
			own := NewAgentClient(h.hook, secret)
			_, err := own.RequestHandoff(t.Context(), a.ID, in)
			own.Close()
			equal(t, fmt.Sprintf("targets %q, request %d is allowed", tt.targets, i), err == nil, tt.allowed[i])
			if err == nil {
				continue
			}
			wantError(t, err, daemon.KindForbidden, "heir_not_allowed", "")
			if said := err.Error(); i < 5 && !strings.Contains(said, "handoff.targets") {
				t.Errorf("request %d: %s", i, said)
			}
			value(h.client.RequestHandoff(t.Context(), a.ID, in))(t)
		}
	}
}

func TestPagesOfHandoffs(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	slug := h.persona()
	a := h.agent(func(a *daemon.Agent) { away(a); a.Persona = &slug })
	begun := h.asked(a)
	for path, want := range map[string]string{
		at("agents", a.ID, ""): "/ui/personas/" + slug, "/personas": slug, "/personas/" + slug: "Generation 1", "/handoffs": at("handoffs", begun, ""),
		"/handoffs?status=&persona=": at("handoffs", begun, ""), "/handoffs?status=failed&persona=" + slug + "&before=9": "No handoff matches the filter",
		at("handoffs", begun, ""): "the daemon prepares it",
	} {
		path, want = "/ui"+strings.TrimPrefix(path, "/api"), strings.Replace(want, "/api/", "/ui/", 1)
		h.mainDoor().ok("GET", path, "", want)
	}
	h.mainDoor().do("GET", "/ui/handoffs?limit=1", "").wants(t, "limit", 400, "unknown_parameter")
}
