//go:build e2e

package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
)

// In the walks the daemon, or PostgreSQL, is killed at each point in turn. The whole of one handoff is walked, commits and all; of the
// other flows only what they do to the world outside, because the simulation kills the daemon at each commit of every flow.

// TestHandoffSurvivesDatabaseKills: the daemon starts PostgreSQL again, and each handoff ends once. To kill PostgreSQL costs
// about 3 s of CPU time, so there are few points. The simulation shows that any commit of any flow may fail, or be carried
// out and lose its answer.
func TestHandoffSurvivesDatabaseKills(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Settings.DatabaseURL = "" // the private PostgreSQL
	r.cfg.NoSync = true
	b := &bomb{act: func(crashPoint, string) { killPostgres(r) }}
	r.cfg.Around = b.around
	r.start()
	a := r.startAgent(con)
	points := []crashPoint{{"commit", true, 3}, {"spawn", true, 1}, {"paste", true, 3}}
	for _, p := range points {
		b.set(p)
		h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
		if !b.wentOff() {
			t.Errorf("%s: the database was not killed", p)
		}
		for _, id := range []int64{h.AgentID, *h.SuccessorID} {
			r.awaitAgent(id, "not in a turn", func(a daemon.Agent) bool { return a.State == daemon.Idle || a.State == daemon.Ended })
			equal(t, fmt.Sprintf("%s: agent %d was told", p, id), submissions([]byte(r.readFile(*r.getAgent(id).TranscriptPath)), h.Ref), 1)
		}
		a = r.awaitAgent(*h.SuccessorID, "idle", func(a daemon.Agent) bool { return a.State == daemon.Idle && a.Pane != nil })
	}
	equal(t, "handoffs", len(value(r.client.Handoffs(t.Context(), api.ListOptions{}))(t)), len(points))
}

// killPostgres kills the postmaster of the private cluster.
func killPostgres(r *rig) {
	b, err := os.ReadFile(filepath.Join(r.root, "postgres", "data", "postmaster.pid"))
	if err != nil {
		r.t.Errorf("postmaster: %v", err)
		return
	}
	line, _, _ := strings.Cut(string(b), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || pid < 2 {
		r.t.Errorf("postmaster.pid: %q", line)
		return
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		r.t.Errorf("postmaster %d: %v", pid, err)
	}
}
