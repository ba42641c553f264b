package engine

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/personas"
)

// TestSkillFoundInTheTranscriptIsAnEvent: a skill that was typed counts as given once it was taken, whatever shows
// that, and the log says so once.
func TestSkillFoundInTheTranscriptIsAnEvent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		verdict daemon.Verdict
		given   bool // before
		want    int
	}{
		{"taken", daemon.Submitted, false, 1},
		{"taken, and given before", daemon.Submitted, true, 0},
		{"not taken", daemon.NotSubmitted, false, 0},
	} {
		s := &spoolStore{}
		d := New(Config{Host: "h", Store: s, Log: slog.New(slog.DiscardHandler)})
		persona, now := "ana", time.Now().UTC()
		a := &daemon.Agent{ID: 1, Persona: &persona}
		if c.given {
			a.SkillInjectedAt = &now
		}
		dl := &daemon.Delivery{ID: 2, AgentID: 1, Kind: daemon.KindSkill, State: daemon.DeliveryTyped, TypedAt: &now}
		dl.Decide(c.verdict, "found in the transcript", now)
		if _, _, err := d.saveDelivery(t.Context(), a, dl, false); err != nil {
			t.Fatal(err)
		}
		events := 0
		for _, e := range s.told {
			if strings.HasPrefix(e, `agent_skill_injected {"by":"prompt","persona":"ana"`) {
				events++
			}
		}
		if events != c.want || (a.SkillInjectedAt != nil) != (c.given || c.want == 1) {
			t.Errorf("%s: %d events, given at %v: %q", c.name, events, a.SkillInjectedAt, s.told)
		}
	}
}

// TestPlaceholdersReachNoModel: the comment of an experience file in which nobody has written yet is for people.
func TestPlaceholdersReachNoModel(t *testing.T) {
	t.Parallel()
	const empty = "<!-- What every successor in this role should know. Nothing yet. -->\n"
	if text := skillText(personas.Persona{Slug: "qa-sol-1", Skill: "Test it.", Experience: empty}, nil); strings.Contains(text, "Nothing yet") || strings.Contains(text, "those before you") {
		t.Errorf("the model is given\n%s", text)
	}
	if text := skillText(personas.Persona{Slug: "qa-sol-1", Skill: "Test it.", Experience: empty + "- Mind the roof.\n"}, nil); !strings.Contains(text, "want you to know\n\n- Mind the roof.\n") || strings.Contains(text, "Nothing yet") {
		t.Errorf("the model is given\n%s", text)
	}
}
