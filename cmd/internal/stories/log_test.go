package stories

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/data"
)

func (r *rig) logged() *cmdtest.Printed {
	log := &cmdtest.Printed{}
	r.cfg.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return log
}

func TestLogHoldsNoScreen(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		log := r.logged()
		r.start()
		r.misbehave("crash-at-start")
		a := r.createAgent(agents.NewAgent{Cwd: r.work})
		now := r.awaitState(a.ID, daemon.Ended)
		const shown = "scripted crash at start"
		if !strings.Contains(*now.EndReason, shown) {
			t.Errorf("agent ended by %q: want what its pane showed", *now.EndReason)
		}
		r.await("operator told", func() (bool, string) { return len(r.agentEvents(a.ID, "operator_notified")) > 0, "" })
		r.halt() // Now everything is in the log.
		if got := log.String(); strings.Contains(got, shown) || !strings.Contains(got, "agent ended") || !strings.Contains(got, "without being asked") {
			t.Errorf("log:\n%s", got)
		}
	})
}

func TestLogHoldsNoDialog(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.BusyTimeout = 500 * time.Millisecond
		log := r.logged()
		r.start()
		a := r.startAgent(con)
		r.sendMessage(a.ID, ownWork)
		r.awaitState(a.ID, daemon.Waiting)
		h := r.awaitFailure(r.requestHandoff(a.ID), daemon.Instructing, "busy_timeout")
		const shown = "Do you want to proceed"
		if !strings.Contains(h.Error.Message, shown) {
			t.Errorf("failure %q: want what the pane shows", h.Error.Message)
		}
		r.halt()
		if got := log.String(); strings.Contains(got, shown) || !strings.Contains(got, "a dialog is open: ") {
			t.Errorf("log:\n%s", got)
		}
	})
}

// TestHandoffIsLoggedWithStableKeys: Scripts look for these log lines, so each has the same keys every time.
func TestHandoffIsLoggedWithStableKeys(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		log := r.keepLog()
		var broken atomic.Bool
		r.around(func(cfg *engine.Config) {
			git := cfg.Worktree
			cfg.Worktree = func(ctx context.Context, q worktree.Query) (worktree.Tree, error) {
				if broken.Load() {
					panic("no such thing")
				}
				return git(ctx, q)
			}
		})
		r.start()
		a := r.startAgent(con)
		r.talk(a.ID, "some work")
		r.misbehave("no-document")
		id := r.awaitFailure(r.requestHandoff(a.ID), daemon.Verifying, data.DocumentMissing).ID
		r.misbehave("")
		r.retryHandoff(id)
		h := r.awaitPhase(id, daemon.Completed)
		broken.Store(true)
		degraded, _, _ := r.handOver(r.awaitTakeover(h).ID)

		r.wantLoggedOnce(log, h, "handoff_started", "INFO", "", false)
		r.wantLoggedOnce(log, h, "handoff_failed", "WARN", data.DocumentMissing, false)
		r.wantLoggedOnce(log, h, "handoff_extracted", "INFO", "", true)
		r.wantLoggedOnce(log, h, "handoff_completed", "INFO", "", true)
		r.awaitLogged(log, "handoff_fallback_used", h.ID, 0)
		r.wantLoggedOnce(log, degraded, "handoff_fallback_used", "WARN", "internal error: no such thing", true)
		r.wantLoggedOnce(log, degraded, "handoff_completed", "INFO", "", true)
	})
}

// wantLoggedOnce fails unless this moment of the handoff was logged once, at this level. If it was recorded, the line
// must have the numbers of the handoff's metrics.
func (r *rig) wantLoggedOnce(log *cmdtest.Printed, h daemon.Handoff, moment, level, trouble string, recorded bool) {
	r.t.Helper()
	line := r.awaitLogged(log, moment, h.ID, 1)[0]
	want := map[string]any{
		"time": line["time"], "level": level, "msg": moment, "handoff_id": float64(h.ID), "source_agent": h.SourceAgent,
		"target_agent": h.TargetAgent, "duration_ms": 0.0, "assembly_ms": 0.0, "context_size": 0.0, "messages_transferred": 0.0,
		"decisions_transferred": 0.0, "context_validated": false, "error": trouble,
	}
	if recorded {
		m := h.Metrics
		maps.Copy(want, map[string]any{
			"duration_ms": m.DurationMS, "assembly_ms": m.DurationMS, "context_size": float64(m.ContextSizeBytes),
			"messages_transferred": float64(m.MessagesTransferred), "decisions_transferred": float64(m.DecisionsTransferred),
			"context_validated": h.ContextValidated,
		})
	}
	switch moment { // the whole handoff took that long
	case "handoff_completed":
		want["duration_ms"] = float64(h.Metrics.TotalMS)
	case "handoff_failed": // until then: a retry has gone on since
		if took, _ := line["duration_ms"].(float64); took <= 0 || took > float64(h.Metrics.TotalMS) {
			r.t.Errorf("the failure was logged after %v ms of %d", took, h.Metrics.TotalMS)
		}
		want["duration_ms"] = line["duration_ms"]
	}
	if !reflect.DeepEqual(line, want) {
		r.t.Errorf("logged\n%v\nwant\n%v", line, want)
	}
}
