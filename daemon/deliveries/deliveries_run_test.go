package deliveries

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
)

// toldStore is a database that notes the events of commits.
type toldStore struct {
	daemon.Store
	told []string
}

func (s *toldStore) Commit(_ context.Context, c *daemon.Change) error {
	for _, e := range c.Events {
		s.told = append(s.told, string(e.Type)+" "+string(e.Payload))
	}
	return nil
}

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
		s := &toldStore{}
		d := testCourier(engine.Config{Host: "h", Store: s, Log: slog.New(slog.DiscardHandler)})
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
