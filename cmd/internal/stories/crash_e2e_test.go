//go:build e2e

package stories

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
)

// TestKilledDaemonEndsItsForkAndTheNextAsksAgain: The fork ends with the daemon that runs it. The next daemon asks
// again.
func TestKilledDaemonEndsItsForkAndTheNextAsksAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	traces := recordForkPIDs(r)
	first := startDaemonChild(r)
	a := startSpokenTo(r)
	r.misbehave("fork-hang")
	id := requestGenerate(r, a.ID, "")
	pids := awaitFork(r, traces)
	first.kill()
	wantEndedWithin(r, 2*time.Second, pids...)
	r.misbehave("")
	startDaemonChild(r)
	wantEndedOnce(r, r.awaitPhase(id, daemon.Completed))
}

// wentOff reports whether the bomb has gone off since it was set.
func (b *bomb) wentOff() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.gone
}

// TestHandoffSurvivesDaemonKillsAtEveryPoint: the daemon is killed at every point of a handoff, which fails unless there were at least so
// many of each kind. How often a flow commits varies a little, so the least number of commits is below the usual one.
func TestHandoffSurvivesDaemonKillsAtEveryPoint(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := startWalk(r, "")
	a := r.startAgent("developer-con-1")
	// The daemon may die between the commit of the row and its answer.
	_, _ = r.client.RequestHandoff(t.Context(), a.ID, handoffs.HandoffRequest{Mode: daemon.ModeAgent, Force: true})
	var h daemon.Handoff
	w.until("the handoff, and its successor idle", func() (bool, string) {
		var err error
		if h, err = r.client.LatestHandoff(t.Context(), a.ID); err != nil {
			return false, err.Error()
		}
		if h.Phase != daemon.Completed {
			if !h.Open() {
				t.Fatalf("handoff %s: %+v\n%s\n%s", h.Phase, h.Error, strings.Join(pointsIn(w.told.Walk), "\n"), r.report())
			}
			return false, fmt.Sprintf("%s %s", h.Phase, h.Note)
		}
		successor, err := r.client.Agent(t.Context(), *h.SuccessorID)
		return err == nil && successor.State == daemon.Idle && countPanes(r) == 1, fmt.Sprintf("%s %v", successor.State, err)
	})
	w.end(map[string]int{"commit": 17, "hook": 6, "paste": 3, "keys": 2, "spawn": 1, "kill": 1})
	wantEndedOnce(r, h)
}

// countPanes counts the panes; -1: tmux does not answer.
func countPanes(r *rig) int {
	list, err := r.tmux.List(r.t.Context())
	if err != nil {
		return -1
	}
	return len(list)
}

// wantEndedOnce checks what must hold after a completed handoff, whatever happened on the way.
func wantEndedOnce(r *rig, h daemon.Handoff) {
	r.t.Helper()
	ctx := r.t.Context()
	r.awaitAgent(*h.SuccessorID, "idle after its briefing", func(a daemon.Agent) bool { return a.State == daemon.Idle })
	agents := value(r.client.Agents(ctx, api.ListOptions{}))(r.t)
	if len(agents) != 2 || agents[0].ID != *h.SuccessorID || agents[0].EndedAt != nil || agents[1].EndedAt == nil {
		r.t.Errorf("agents %+v: want the ended one and its one successor", agents)
	}
	for _, a := range agents {
		b := value(os.ReadFile(*a.TranscriptPath))(r.t)
		want := 1
		if a.EndedAt != nil && h.Mode == daemon.ModeGenerate {
			want = 0
		}
		if n := submissions(b, h.Ref); n != want {
			r.t.Errorf("agent %d was told %d times, want %d\n%s", a.ID, n, want, b)
		}
	}
	equal(r.t, "the document and its context: files", len(value(os.ReadDir(filepath.Dir(h.FilePath)))(r.t)), 2)
	moves := value(r.client.Transitions(ctx, h.ID))(r.t)
	var path []string
	for i, m := range moves {
		if i > 0 && moves[i-1].To != m.From {
			r.t.Errorf("transition %d goes on from %s, but the one before led to %s", i, m.From, moves[i-1].To)
		}
		path = append(path, string(m.To))
	}
	want := "instructing awaiting_document verifying recorded shutting_down spawning awaiting_registration injecting_skill briefing completed"
	if h.Mode == daemon.ModeGenerate {
		want = strings.Replace(want, "instructing awaiting_document", "generating", 1)
	}
	equal(r.t, "went through", strings.Join(path, " "), want)
	panes := value(r.tmux.List(ctx))(r.t)
	if len(panes) != 1 || panes[0].Mark != strconv.FormatInt(*h.SuccessorID, 10) {
		r.t.Errorf("panes %+v: want the successor's alone", panes)
	}
}

// submissions counts the user entries of a transcript that contain the nonce.
func submissions(transcript []byte, nonce string) int {
	n := 0
	for line := range strings.Lines(string(transcript)) {
		var e struct {
			Type string `json:"type"`
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Type == "user" && strings.Contains(line, nonce) {
			n++
		}
	}
	return n
}
