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
)

// TestRecordedHandoff: the API shows all fields of a handoff that failed after its record, and can retry it.
func TestRecordedHandoff(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	slug := h.persona()
	a := h.agent(func(a *daemon.Agent) { a.Persona = &slug })
	id := must(h.store.NextID(ctx, daemon.HandoffIDs))(t)
	now, text, size := time.Now().UTC(), "words", int64(200_000)
	h.commit(&daemon.Change{
		NewHandoff: &daemon.Handoff{
			ID: id, Ref: "ref", AgentID: a.ID, Persona: slug, Host: "here", Reason: "manual", Mode: daemon.ModeAgent, Generation: 1,
			Phase: daemon.Failed, PhaseAt: now, Error: &daemon.Failure{Phase: daemon.ShuttingDown, Code: "exit_failed", Message: "It stays.", Hint: "end it"},
			FilePath: "/handoffs/1.md", ContextPath: &text, ContextChecksum: &text, InjectionPrompt: &text, Warnings: []string{"A warning."},
			ContextUse: &daemon.ContextUse{Tokens: 7, Limit: &size, Source: "transcript"}, Structured: &daemon.Structured{WhatWasDone: &text},
			Metrics: daemon.Metrics{Phases: map[daemon.Phase]int64{daemon.Verifying: 3}}, CreatedAt: now, StartedAt: &now, RecordedAt: &now, CompletedAt: &now,
			Heirs: []daemon.HandoffHeir{{Heir: daemon.Heir{Persona: slug}}},
		},
	})
	got := must(h.client.Handoff(ctx, id))(t)
	if got.Error == nil || got.Error.Hint != "end it" || got.Structured == nil || got.ContextUse == nil || len(got.Warnings) != 1 {
		t.Errorf("handoff: %+v", got)
	}
	_, err := h.client.ContextFile(ctx, id)
	wantError(t, err, daemon.KindNotFound, "context_missing", "")
	h.mainDoor().do("GET", at("handoffs", id, "/record"), "").wants(t, "no record", 404, "record_missing")
	row := must(h.store.Handoff(ctx, id))(t)
	h.commit(&daemon.Change{
		Move: &daemon.Move{Handoff: &row, From: daemon.Failed},
		NewRecord: &daemon.Record{HandoffID: id, AgentID: a.ID, Agent: "a", Persona: slug, Document: "the document", Context: "the context", At: now,
			Decisions: []data.Decision{{Agent: "a", Summary: "slate", Timestamp: now}}, Messages: []data.Message{{Agent: "a", Role: "user", Text: "Mend it.", At: now}},
			Todos: []data.Todo{{Text: "Sweep", Status: "pending"}}},
	})
	if file := must(h.client.ContextFile(ctx, id))(t); string(file) != "the context" {
		t.Errorf("context file: %q", file)
	}
	record := h.mainDoor().do("GET", at("handoffs", id, "/record"), "")
	for _, want := range []string{`"summary":"slate"`, `"references":[]`, `"text":"Mend it."`, `"todos":[{"text":"Sweep","status":"pending"}]`} {
		if record.status != 200 || !strings.Contains(string(record.body), want) || strings.Contains(string(record.body), "the document") {
			t.Errorf("record: %d %s, want %s", record.status, record.body, want)
		}
	}
	for _, kind := range []string{"document", "context"} { // the dashboard's page has the same text as the API's answer
		path := fmt.Sprintf("/ui/handoffs/%d/%s", id, kind)
		if got := h.mainDoor().with("Accept", "text/html").do("GET", path, ""); got.status != 200 || !strings.Contains(string(got.body), "the "+kind) {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if got = must(h.client.RetryHandoff(ctx, id, ""))(t); got.Status != daemon.StatusInProgress || got.Error != nil {
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
	ask := func(a *daemon.Agent) int64 {
		t.Helper()
		return must(h.client.RequestHandoff(ctx, a.ID, handoffs.HandoffRequest{}))(t).HandoffID
	}
	shown, foreign := ask(a), ask(other)
	if got := must(h.client.CancelHandoff(ctx, a.ID, shown))(t); got.ID != shown || got.Status != daemon.StatusCancelled {
		t.Errorf("cancelled: %+v", got)
	}
	_, err := h.client.CancelHandoff(ctx, a.ID, foreign)
	wantError(t, err, daemon.KindNotFound, "handoff_not_found", "Handoff not found")

	open, before := ask(a), must(h.store.LastEventID(ctx))(t)
	for _, id := range []int64{shown, foreign, 9999} {
		_, err := h.client.CancelHandoff(ctx, a.ID, id)
		wantError(t, err, daemon.KindConflict, "another_handoff", fmt.Sprintf("Agent %d is in handoff %d by now, not in %d: look at it again", a.ID, open, id))
	}
	for _, value := range []string{`"7"`, "1.5", "0", "-1"} {
		got := h.mainDoor().do("DELETE", at("agents", a.ID, "/handoff"), `{"handoff_id": `+value+`}`)
		got.wants(t, "handoff_id "+value, 400, "invalid_field")
	}
	unchanged(h, "cancelling another handoff", before)
	must(h.client.CancelHandoff(ctx, a.ID, open))(t)
	_, err = h.client.CancelHandoff(ctx, a.ID, shown)
	wantError(t, err, daemon.KindConflict, "handoff_ended", "Handoff has ended: it is cancelled")
}

// TestCancelARetriedHandoff: the API finds a retried handoff although its agent has a newer one.
func TestCancelARetriedHandoff(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	slug := h.persona()
	a := h.agent(func(a *daemon.Agent) { a.Persona = &slug })
	now := time.Now().UTC()
	var ids []int64
	for i, phase := range []daemon.Phase{daemon.Failed, daemon.Cancelled} {
		ids = append(ids, must(h.store.NextID(ctx, daemon.HandoffIDs))(t))
		h.commit(&daemon.Change{NewHandoff: &daemon.Handoff{
			ID: ids[i], Ref: fmt.Sprint("ref-", i), AgentID: a.ID, Persona: slug, Host: "here", Reason: "manual", Mode: daemon.ModeAgent, Generation: 1,
			Phase: phase, PhaseAt: now, Error: &daemon.Failure{Phase: daemon.Verifying, Code: "document_missing", Message: "There is none."},
			FilePath: fmt.Sprintf("/handoffs/%d.md", i), Warnings: []string{}, Metrics: daemon.Metrics{Phases: map[daemon.Phase]int64{}},
			CreatedAt: now, StartedAt: &now, CompletedAt: &now, Heirs: []daemon.HandoffHeir{{Heir: daemon.Heir{Persona: slug}}},
		}})
	}
	must(h.client.RetryHandoff(ctx, ids[0], ""))(t)
	if got := must(h.client.CancelHandoff(ctx, a.ID, ids[0]))(t); got.ID != ids[0] || got.Status != daemon.StatusCancelled {
		t.Errorf("cancelled: %+v", got)
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	slug := h.persona()
	a := h.agent(func(a *daemon.Agent) { away(a); a.Persona = &slug; a.Generation = 3 })
	for _, mode := range []daemon.Mode{"", daemon.ModeAgent, daemon.ModeGenerate} {
		begun := must(h.client.RequestHandoff(ctx, a.ID, handoffs.HandoffRequest{Mode: mode}))(t)
		want := mode
		if mode == "" {
			want = daemon.ModeAgent
		}
		if got := must(h.client.Handoff(ctx, begun.HandoffID))(t); got.Mode != want || got.Generation != 3 || got.ContextUse != nil {
			t.Errorf("mode %q: %+v", mode, got)
		}
		_, err := h.client.RetryHandoff(ctx, begun.HandoffID, daemon.ModeGenerate)
		wantError(t, err, daemon.KindConflict, "handoff_not_failed", "")
		_, err = h.client.RetryHandoff(ctx, begun.HandoffID, "magic")
		wantError(t, err, daemon.KindInvalid, "bad_mode", "")
		must(h.client.CancelHandoff(ctx, a.ID, 0))(t)
	}
	_, err := h.client.RequestHandoff(ctx, a.ID, handoffs.HandoffRequest{Mode: "magic"})
	wantError(t, err, daemon.KindInvalid, "bad_mode", "")
}

func TestLine(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	slug := h.persona()
	over := func(a *daemon.Agent) { now := time.Now(); a.State, a.EndedAt = daemon.Ended, &now }
	plays := func(a *daemon.Agent) { away(a); a.Persona = &slug }
	ask := func(a *daemon.Agent) int64 {
		t.Helper()
		id := must(h.client.RequestHandoff(ctx, a.ID, handoffs.HandoffRequest{}))(t).HandoffID
		must(h.client.CancelHandoff(ctx, a.ID, 0))(t)
		return id
	}
	first := h.agent(plays)
	one, two := ask(first), ask(first)
	second := h.agent(func(a *daemon.Agent) { plays(a); a.PreviousAgentID, a.Generation = &first.ID, 2 })
	three := ask(second)
	stranger := h.agent(plays)
	four := ask(stranger)
	h.agent(func(a *daemon.Agent) { plays(a); over(a); a.PreviousAgentID, a.Generation = &second.ID, 3 })

	for _, id := range []int64{one, two, three} {
		line := must(h.client.Line(ctx, id))(t)
		if len(line) != 3 || line[0].ID != three || line[1].ID != two || line[2].ID != one || line[0].Generation != 2 {
			t.Errorf("line of handoff %d: %+v, want %d, %d, %d", id, line, three, two, one)
		}
	}
	if line := must(h.client.Line(ctx, four))(t); len(line) != 1 || line[0].ID != four {
		t.Errorf("line of a stranger: %+v", line)
	}
	_, err := h.client.Line(ctx, 9999)
	wantError(t, err, daemon.KindNotFound, "handoff_not_found", "Handoff not found")
}

// TestGenerateIsRefusedWithoutACopy: the runtime of the agent cannot copy its session, so the request is refused at once, and
// the sentence names the mode that works.
func TestGenerateIsRefusedWithoutACopy(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	slug := h.persona()
	a := h.agent(func(a *daemon.Agent) { a.Persona, a.Runtime = &slug, "toy" })
	const sentence = "No copy of the agent's session can write the document, because its runtime toy cannot copy a session: ask the agent itself with mode agent"
	_, err := h.client.RequestHandoff(ctx, a.ID, handoffs.HandoffRequest{Mode: daemon.ModeGenerate, Force: true})
	wantError(t, err, daemon.KindUnprocessable, "cannot_copy_session", sentence)
	if list := must(h.client.Handoffs(ctx, ListOptions{}))(t); len(list) != 0 {
		t.Errorf("handoffs %+v of a request that was refused", list)
	}
	begun := must(h.client.RequestHandoff(ctx, a.ID, handoffs.HandoffRequest{Force: true, Heirs: []daemon.Heir{{Runtime: "claude"}}}))(t)
	for moved := true; moved; { // the daemon works on it meanwhile
		row, now := must(h.store.Handoff(ctx, begun.HandoffID))(t), time.Now().UTC()
		from := row.Phase
		row.Phase, row.CompletedAt = daemon.Failed, &now
		row.Error = &daemon.Failure{Phase: daemon.Requested, Code: "document_missing", Message: "There is none"}
		err := h.store.Commit(ctx, &daemon.Change{Move: &daemon.Move{Handoff: &row, From: from, Cause: "a test"}})
		if moved = errors.Is(err, daemon.ErrMoved); !moved {
			check(t, err)
		}
	}
	_, err = h.client.RetryHandoff(ctx, begun.HandoffID, daemon.ModeGenerate)
	wantError(t, err, daemon.KindUnprocessable, "cannot_copy_session", sentence)
}
