package agents

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/engine"
)

// TestDialogBeforeTheSession: an agent waits for a person from a dialog before its session until two looks in a row
// find none. Between two dialogs the pane may be empty for a moment.
func TestDialogBeforeTheSession(t *testing.T) {
	t.Parallel()
	const theme, trust = "theme: which?", "trust: may it?"
	now := time.Now().Truncate(time.Microsecond)
	d := testSupervisor(engine.Config{Clock: func() time.Time { return now }})
	spawned := now.Add(-time.Minute)
	a := &daemon.Agent{ID: 7, State: daemon.Starting, SpawnedAt: &spawned, Hold: &daemon.Hold{Kind: daemon.HoldNotRegistered}}
	for i, step := range []struct {
		dialog string
		state  daemon.AgentState
		asks   string
		news   bool
	}{
		{"", daemon.Starting, "", false}, {theme, daemon.Waiting, theme, true}, {theme, daemon.Waiting, theme, false}, {"", daemon.Waiting, theme, false},
		{trust, daemon.Waiting, trust, true}, {"", daemon.Waiting, trust, false}, {"", daemon.Starting, "", true}, {"", daemon.Starting, "", false},
	} {
		woken := d.NoteGlimpse(a, step.dialog)
		if news := d.CorrectByPane(a); news != step.news || a.State != step.state || a.WaitsFor != step.asks || step.news && !woken {
			t.Fatalf("look %d (%q): news %t, woken %t, %s for %q", i, step.dialog, news, woken, a.State, a.WaitsFor)
		}
	}
	if a.Hold != nil || a.AnsweredAt == nil || !a.AnsweredAt.Equal(now) {
		t.Errorf("note %q, answered at %v", a.Note, a.AnsweredAt)
	}
	a.State, a.LastStop = daemon.Waiting, 4
	if !d.CorrectByPane(a) || a.State != daemon.Idle {
		t.Errorf("an agent that has had a turn is %s after its dialog", a.State)
	}
	a.RegisteredAt = &now
	d.NoteGlimpse(a, theme)
	if d.CorrectByPane(a) {
		t.Error("an agent with a session waits for a dialog from before it")
	}
}

// TestRowIsBelievedBeforeTheFirstLook: a daemon that has just started has looked at no pane.
func TestRowIsBelievedBeforeTheFirstLook(t *testing.T) {
	t.Parallel()
	d := testSupervisor(engine.Config{})
	a := &daemon.Agent{ID: 7, State: daemon.Waiting, WaitsFor: "trust"}
	if d.CorrectByPane(a) || a.State != daemon.Waiting {
		t.Errorf("without a look: %s", a.State)
	}
	for range 2 { // the dialog was answered while no daemon ran
		d.NoteGlimpse(a, "")
	}
	if !d.CorrectByPane(a) || a.State != daemon.Starting {
		t.Errorf("after two looks: %s", a.State)
	}
}

// TestStartDeadline: a person has an hour to answer a dialog, and the runtime its whole time after the answer.
func TestStartDeadline(t *testing.T) {
	t.Parallel()
	d, now := testSupervisor(engine.Config{Settings: engine.Settings{Handoff: daemon.DefaultHandoff}}), time.Now()
	made, asked := now.Add(-2*time.Hour), now.Add(-time.Hour)
	a := &daemon.Agent{State: daemon.Starting, StateAt: made, SpawnedAt: &made}
	want := func(since time.Time, limit time.Duration) {
		t.Helper()
		if s, l := d.StartDeadline(a); !s.Equal(since) || l != limit {
			t.Errorf("%s after %s, want %s after %s", l, s, limit, since)
		}
	}
	want(made, daemon.DefaultHandoff.RegistrationTimeout)
	a.Be(daemon.Waiting, asked)
	want(asked, deliveries.OpeningLimit)
	a.NoteAnswered(now)
	a.Be(daemon.Starting, now)
	want(now, daemon.DefaultHandoff.RegistrationTimeout)
}
