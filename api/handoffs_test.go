package api

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// TestRecordedHandoff: a handoff that failed after its record is shown with all that it has, and goes on.
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
		},
	})
	got := must(h.client.Handoff(ctx, id))(t)
	if got.Error == nil || got.Error.Hint != "end it" || got.Structured == nil || got.ContextUse == nil || len(got.Warnings) != 1 {
		t.Errorf("handoff: %+v", got)
	}
	_, err := h.client.ContextFile(ctx, id)
	wantError(t, err, daemon.KindNotFound, "context_missing", "")
	row := must(h.store.Handoff(ctx, id))(t)
	h.commit(&daemon.Change{
		Move:      &daemon.Move{Handoff: &row, From: daemon.Failed},
		NewRecord: &daemon.Record{HandoffID: id, AgentID: a.ID, Agent: "a", Persona: slug, Document: "the document", Context: "the context", At: now},
	})
	if file := must(h.client.ContextFile(ctx, id))(t); string(file) != "the context" {
		t.Errorf("context file: %q", file)
	}
	if got = must(h.client.RetryHandoff(ctx, id, ""))(t); got.Status != daemon.StatusInProgress || got.Error != nil {
		t.Errorf("retried: %+v", got)
	}
}
