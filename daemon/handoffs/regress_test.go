package handoffs

import (
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
)

// TestShutdownThatTakesLongAlerts: an outgoing agent that did not end once held its handoff up without a word to the
// operator. The phase has no deadline.
func TestShutdownThatTakesLongAlerts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	d := testFlow(engine.Config{Clock: func() time.Time { return now }})
	for name, a := range map[string]*daemon.Agent{
		"in a turn":        {ID: 7, State: daemon.Working},
		"not ready":        {ID: 7, State: daemon.Starting},
		"background tasks": {ID: 7, State: daemon.Idle, AgentTurn: daemon.AgentTurn{BackgroundTasks: 1}},
	} {
		for _, tt := range []struct {
			age   time.Duration
			alert bool
		}{{longWait - time.Second, false}, {longWait + time.Second, true}} {
			r := &handoffRun{d: d, now: now, agent: a, h: &daemon.Handoff{ID: 1, AgentID: 7, Phase: daemon.ShuttingDown, PhaseAt: now.Add(-tt.age)}}
			out := r.shutDown()
			if out.alert != tt.alert || strings.Contains(out.hold.Words(), "understudy agent stop 7") != tt.alert || !strings.Contains(out.hold.Words(), name) {
				t.Errorf("%s for %s: alert %v, note %q", name, tt.age, out.alert, out.hold.Words())
			}
			if out.fail != nil || out.next != "" || len(out.with.Agents) > 0 {
				t.Errorf("%s for %s: %+v, want to wait", name, tt.age, out)
			}
		}
	}
}
