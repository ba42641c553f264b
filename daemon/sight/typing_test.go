package sight

import (
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
)

// TestWhyNotTyped: what is seen of a pane decides whether a text is typed into it, and what its agent's note says meanwhile. Each row differs
// in one fact from a pane that takes a text.
func TestWhyNotTyped(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(f *PaneFacts)
		want   daemon.HoldKind
		exit   daemon.HoldKind // for the exit command
	}{
		"empty composer":     {func(*PaneFacts) {}, "", ""},
		"held for /handoff":  {func(f *PaneFacts) { f.Answering = true }, daemon.HoldTurn, daemon.HoldTurn},
		"registry: a turn":   {func(f *PaneFacts) { f.Status = runtimes.StatusBusy }, daemon.HoldTurn, daemon.HoldTurn},
		"registry: a dialog": {func(f *PaneFacts) { f.Status = runtimes.StatusWaiting }, daemon.HoldDialog, daemon.HoldDialog},
		"registry: idle":     {func(f *PaneFacts) { f.Status = runtimes.StatusIdle }, "", ""},
		"behind a shell":     {func(f *PaneFacts) { f.InFront = false }, daemon.HoldBehind, daemon.HoldBehind},
		"no screen":          {func(f *PaneFacts) { f.Screen = nil }, daemon.HoldUnreadable, daemon.HoldUnreadable},
		"no screen, behind":  {func(f *PaneFacts) { f.Screen, f.InFront = nil, false }, daemon.HoldBehind, daemon.HoldBehind},
		"dialog":             {func(f *PaneFacts) { *f.Screen = runtimes.Screen{Dialog: "model picker"} }, daemon.HoldDialog, daemon.HoldDialog},
		"dialog in a turn":   {func(f *PaneFacts) { *f.Screen = runtimes.Screen{Dialog: "shell mode", Busy: true} }, daemon.HoldDialog, daemon.HoldDialog},
		"nothing":            {func(f *PaneFacts) { *f.Screen = runtimes.Screen{} }, daemon.HoldNotReady, daemon.HoldNotReady},
		"a turn":             {func(f *PaneFacts) { f.Screen.Busy = true }, daemon.HoldNotReady, ""},
		"draft":              {func(f *PaneFacts) { f.Screen.Draft = "x" }, "", ""},
		"one aside":          {func(f *PaneFacts) { f.Screen.Stashed = true }, "", ""},
		"one aside, one not": {func(f *PaneFacts) { f.Screen.Stashed, f.Screen.Draft = true, "x" }, daemon.HoldDrafts, daemon.HoldDrafts},
		"draft, no key":      {func(f *PaneFacts) { f.Stashes, f.Screen.Draft = false, "x" }, daemon.HoldDraft, daemon.HoldDraft},
		"no key":             {func(f *PaneFacts) { f.Stashes = false }, "", ""},
	} {
		for want, exits := range map[*daemon.HoldKind]bool{&tt.want: false, &tt.exit: true} {
			f := &PaneFacts{InFront: true, Screen: &runtimes.Screen{Composer: true}, Stashes: true, Exits: exits}
			if tt.change(f); f.WhyNot() != *want {
				t.Errorf("%s, exit %t: %q, want %q", name, exits, f.WhyNot(), *want)
			}
		}
	}
}

// TestWhyBusy: an agent is at rest if and only if nothing on its row keeps it busy.
func TestWhyBusy(t *testing.T) {
	t.Parallel()
	for state, want := range map[daemon.AgentState]daemon.HoldKind{daemon.Starting: daemon.HoldNotReady, daemon.Idle: "", daemon.Working: daemon.HoldTurn, daemon.Waiting: daemon.HoldDialog, daemon.Limited: "", daemon.Ended: daemon.HoldNotReady} {
		if a := (&daemon.Agent{State: state}); daemon.WhyBusy(a) != want || a.AtRest() != (want == "") {
			t.Errorf("%s: %q, at rest %t", state, daemon.WhyBusy(a), a.AtRest())
		}
	}
}
