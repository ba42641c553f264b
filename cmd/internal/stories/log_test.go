package stories

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
)

func logged(r *rig) *cmdtest.Printed {
	log := &cmdtest.Printed{}
	r.cfg.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return log
}

// TestLogHoldsNoScreen: neither what a pane showed as its agent ended nor a dialog gets into the log.
func TestLogHoldsNoScreen(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.BusyTimeout = 500 * time.Millisecond
		log := logged(r)
		r.start()
		b := r.startAgent(con)
		r.openDialog(b.ID)
		if h := r.awaitFailure(r.requestHandoff(b.ID), daemon.Instructing, "busy_timeout"); !strings.Contains(h.Error.Message, "Do you want to proceed") {
			t.Errorf("failure %q: want what the pane shows", h.Error.Message)
		}
		r.misbehave("crash-at-start")
		a := r.createAgent(agents.NewAgent{Cwd: r.work})
		now := r.awaitState(a.ID, daemon.Ended)
		const shown = "scripted crash at start"
		if !strings.Contains(*now.EndReason, shown) {
			t.Errorf("agent ended by %q: want what its pane showed", *now.EndReason)
		}
		r.await("operator told", func() (bool, string) { return len(r.agentEvents(a.ID, "operator_notified")) > 0, "" })
		r.halt() // Now everything is in the log.
		if got := log.String(); strings.Contains(got, shown) || strings.Contains(got, "Do you want to proceed") || !strings.Contains(got, "a dialog is open: ") || !strings.Contains(got, "agent ended") || !strings.Contains(got, "without being asked") {
			t.Errorf("log:\n%s", got)
		}
	})
}
