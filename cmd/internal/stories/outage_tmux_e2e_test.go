//go:build e2e

package stories

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
)

// TestTmuxKilledAfterTheRecordNeedsARetry: The record is kept.
func TestTmuxKilledAfterTheRecordNeedsARetry(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := &bomb{act: func(crashPoint, string) { r.killTmux() }}
	r.cfg.Around = b.around
	b.set(crashPoint{"paste", false, 3}) // They are the instruction, /exit and the injection prompt.
	r.start()
	a := r.startAgent("developer-con-1")
	h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Failed)
	if h.Error.Code != "successor_gone" || h.RecordedAt == nil {
		t.Errorf("handoff failed with %+v, want successor_gone after the record", h.Error)
	}
	first := *h.SuccessorID
	r.retryHandoff(h.ID)
	h = r.awaitPhase(h.ID, daemon.Completed)
	if *h.SuccessorID == first {
		t.Errorf("successor is still agent %d, which is gone", first)
	}
	r.wantEachToldOnce(h)
}

// killDatabaseAt kills PostgreSQL with SIGKILL at points of handoffs, one after the other. The daemon starts
// PostgreSQL again, and each handoff ends once.
func killDatabaseAt(t *testing.T, points ...crashPoint) {
	r := newRig(t)
	r.cfg.Settings.DatabaseURL = "" // the private PostgreSQL
	r.cfg.NoSync = true
	b := &bomb{act: func(crashPoint, string) { r.killPostgres() }}
	r.cfg.Around = b.around
	r.start()
	a := r.startAgent("developer-con-1")
	for _, p := range points {
		b.set(p)
		h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
		if !b.wentOff() {
			t.Errorf("%s: the database was not killed", p)
		}
		r.wantEachToldOnce(h)
		a = r.awaitAgent(*h.SuccessorID, "idle", func(a daemon.Agent) bool { return a.State == daemon.Idle && a.Pane != nil })
	}
	handoffs, err := r.client.Handoffs(t.Context(), api.ListOptions{})
	if err != nil || len(handoffs) != len(points) {
		t.Errorf("%d handoffs, %v; want %d", len(handoffs), err, len(points))
	}
}

// killPostgres kills the postmaster of the private cluster.
func (r *rig) killPostgres() {
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

// wantEachToldOnce fails unless each agent of a handoff got its text once.
func (r *rig) wantEachToldOnce(h daemon.Handoff) {
	r.t.Helper()
	for _, id := range []int64{h.AgentID, *h.SuccessorID} {
		a := r.awaitAgent(id, "not in a turn", func(a daemon.Agent) bool { return a.State == daemon.Idle || a.State == daemon.Ended })
		b, err := os.ReadFile(*a.TranscriptPath)
		if err != nil {
			r.t.Fatal(err)
		}
		if n := submissions(b, h.Ref); n != 1 {
			r.t.Errorf("agent %d was told %d times, want once\n%s", id, n, b)
		}
	}
}
