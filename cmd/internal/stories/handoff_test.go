package stories

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestHandoffReachesASuccessorThatTookOver is the main job: from the request until the successor has taken over.
func TestHandoffReachesASuccessorThatTookOver(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	a := r.startAgent("developer-con-1")
	if a.SkillInjectedAt == nil || a.Pane == nil || a.Generation != 1 {
		t.Errorf("agent %+v: want a skill, a pane and generation 1", a)
	}
	h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
	if h.SuccessorID == nil || h.InjectionPrompt == nil || h.RecordedAt == nil || h.Status != daemon.StatusCompleted {
		t.Fatalf("handoff %+v: want a successor, a prompt and a record", h)
	}
	old := r.awaitAgent(a.ID, "ended", func(a daemon.Agent) bool { return a.EndedAt != nil })
	if old.EndReason == nil || *old.EndReason != "prompt_input_exit" {
		t.Errorf("outgoing agent ended by %v, want prompt_input_exit", old.EndReason)
	}
	next := r.awaitAgent(*h.SuccessorID, "idle", func(a daemon.Agent) bool { return a.State == daemon.Idle })
	if next.PreviousAgentID == nil || *next.PreviousAgentID != a.ID || next.Generation != 2 || *next.Persona != "developer-con-1" {
		t.Errorf("successor %+v: want generation 2 of developer-con-1 after agent %d", next, a.ID)
	}
	want := []string{
		"handoff_started", "handoff_instructing", "delivery_submitted", "handoff_awaiting_document", "handoff_verifying",
		"handoff_created", "handoff_recorded", "handoff_shutting_down", "handoff_spawning", "handoff_awaiting_registration",
		"handoff_injecting_skill", "handoff_briefing", "handoff_completed",
	}
	r.awaitAgent(next.ID, "read", func(a daemon.Agent) bool { return a.ReadAt != nil })
	var got []string
	for _, typ := range r.types(h.ID) {
		if strings.HasPrefix(typ, "handoff_") && typ != "handoff_read" || typ == "delivery_submitted" && len(got) == 2 {
			got = append(got, typ)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("events\n got %v\nwant %v", got, want)
	}
	if n := len(r.agentEvents(next.ID, "handoff_read")); n != 1 { // before or after handoff_completed: another lane writes it
		t.Errorf("%d events handoff_read, want 1", n)
	}
	r.await("metrics of the handoff", func() (bool, string) { // they follow the event log a moment behind
		got, err := scrape(r, t.Context())
		return err == nil && got.value("handoffs_ended_total", "completed") == 1 && got.value("handoff_duration_seconds", "agent") == 1 &&
			got.value("deliveries_total", "prompt", "submitted") == 1 && got.value("database_up") == 1, fmt.Sprint(err)
	})
	doc, err := os.ReadFile(h.FilePath)
	if err != nil || !strings.Contains(string(doc), "## Next Agent Context") {
		t.Errorf("document %s: %v\n%s", h.FilePath, err, doc)
	}
	for _, part := range []string{h.FilePath, *h.ContextPath, a.Name, h.Ref} {
		if !strings.Contains(*h.InjectionPrompt, part) {
			t.Errorf("injection prompt %q does not name %s", *h.InjectionPrompt, part)
		}
	}
}
