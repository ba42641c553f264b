//go:build e2e

package stories

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// In the walks the daemon, or PostgreSQL, is killed at each point in turn.

// How often a flow commits varies a little, so the least number of commits is below the usual one.

func TestHandoffSurvivesDaemonKillsAtEveryPoint(t *testing.T) {
	t.Parallel()
	walkHandoff(t, daemon.ModeAgent, map[string]int{"commit": 17, "hook": 6, "paste": 3, "keys": 2, "spawn": 1, "kill": 1})
}

// TestHandoffInPlaceSurvivesDaemonKillsAtEveryPoint: The successor is in the pane of its predecessor, once.
func TestHandoffInPlaceSurvivesDaemonKillsAtEveryPoint(t *testing.T) {
	t.Parallel()
	in := true
	walkRequest(t, daemon.HandoffRequest{Mode: daemon.ModeAgent, Force: true, InPlace: &in}, map[string]int{"commit": 17, "hook": 6, "paste": 3, "keys": 2, "respawn": 1})
}

// TestGenerateSurvivesDaemonKillsAtEveryPoint: In mode generate the one-shot is a point as well. A daemon that is
// killed during the one-shot takes it along.
func TestGenerateSurvivesDaemonKillsAtEveryPoint(t *testing.T) {
	t.Parallel()
	walkHandoff(t, daemon.ModeGenerate, map[string]int{"commit": 18, "hook": 4, "paste": 2, "keys": 2, "spawn": 1, "kill": 1, "fork": 1})
}

// To kill PostgreSQL costs about 3 s of CPU time, so these walks visit one point of each kind. The simulation shows
// that any commit may fail, or be carried out and lose its answer.

func TestHandoffSurvivesDatabaseKills(t *testing.T) {
	t.Parallel()
	killDatabaseAt(t, []crashPoint{
		{"commit", false, 1}, {"commit", true, 3}, {"hook", true, 2}, {"spawn", true, 1}, {"hook", false, 5}, {"paste", true, 3},
		{"commit", false, 17},
	}...)
}

// TestGenerateSurvivesDatabaseKills: PostgreSQL is killed before, during and after the fork. When the database is
// back, the fork's answer is taken, or a new fork is asked.
func TestGenerateSurvivesDatabaseKills(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Settings.DatabaseURL = "" // the private PostgreSQL
	r.cfg.NoSync = true
	b := &bomb{act: func(crashPoint, string) { r.killPostgres() }}
	r.cfg.Around = b.around
	r.start()
	a := r.startSpokenTo()
	for _, p := range []crashPoint{{"fork", false, 1}, {"fork", true, 1}, {"commit", true, 3}} {
		b.set(p)
		before := r.readFile(*a.TranscriptPath)
		h := r.awaitPhase(r.requestGenerate(a.ID, ""), daemon.Completed)
		if !b.wentOff() {
			t.Errorf("%s: the database was not killed", p)
		}
		if after := r.readFile(*a.TranscriptPath); after != before {
			t.Errorf("%s: transcript of the outgoing agent grew by %q", p, strings.TrimPrefix(after, before))
		}
		r.wantTold(*h.SuccessorID, h.Ref)
		a = r.awaitState(*h.SuccessorID, daemon.Idle)
	}
}
