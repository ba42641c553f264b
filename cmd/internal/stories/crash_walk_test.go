//go:build e2e

package stories

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// The walks: the daemon, or PostgreSQL, is killed at each point in turn.

// What a flow commits in the wake of something else varies a little, so the least number of commits is not the usual.

func TestKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	walkHandoff(t, daemon.ModeAgent, map[string]int{"commit": 17, "hook": 6, "paste": 3, "keys": 2, "spawn": 1, "kill": 1})
}

// TestGenerateKilledAtEveryPoint: in mode generate the one-shot is a point as well; a daemon that is
// killed while it runs takes it along.
func TestGenerateKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	walkHandoff(t, daemon.ModeGenerate, map[string]int{"commit": 18, "hook": 4, "paste": 2, "keys": 2, "spawn": 1, "kill": 1, "fork": 1})
}

// A kill of PostgreSQL takes some 3 s of CPU, so these walks go by a point of each kind. That any commit may fail, or be
// carried out and lose its answer, the simulation shows.

// TestDatabaseKilled kills PostgreSQL at points of handoffs.
func TestDatabaseKilled(t *testing.T) {
	t.Parallel()
	databaseKilledAt(t, []crashPoint{
		{"commit", false, 1}, {"commit", true, 3}, {"hook", true, 2}, {"spawn", true, 1}, {"hook", false, 5}, {"paste", true, 3},
		{"commit", false, 17},
	}...)
}

// TestGenerateDatabaseKilled: PostgreSQL is killed while the fork runs, and around it. What it answers is
// taken when the database is back, or asked for anew.
func TestGenerateDatabaseKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Settings.DatabaseURL = "" // the private one
	r.cfg.NoSync = true
	b := &bomb{act: func(crashPoint, string) { r.killPostgres() }}
	r.cfg.Around = b.around
	r.start()
	a := r.spokenTo()
	for _, p := range []crashPoint{{"fork", false, 1}, {"fork", true, 1}, {"commit", true, 3}} {
		b.set(p)
		before := r.read(*a.TranscriptPath)
		h := r.awaitPhase(r.generate(a.ID, ""), daemon.Completed)
		if !b.wentOff() {
			t.Errorf("%s: the database was not killed", p)
		}
		if after := r.read(*a.TranscriptPath); after != before {
			t.Errorf("%s: transcript of the outgoing agent grew by %q", p, strings.TrimPrefix(after, before))
		}
		r.wantTold(*h.SuccessorID, h.Ref)
		a = r.awaitState(*h.SuccessorID, daemon.Idle)
	}
}
