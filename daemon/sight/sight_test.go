package sight

import (
	"log/slog"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/tmux"
)

// testSight makes the floors up to the Sight, for a test.
func testSight(cfg engine.Config) *Sight { return New(engine.New(cfg)) }

// TestRunForgetsOnlyGoroutines: what the daemon knows of an agent is not lost with them.
func TestRunForgetsOnlyGoroutines(t *testing.T) {
	t.Parallel()
	d := testSight(engine.Config{Log: slog.New(slog.DiscardHandler)})
	want := sightMemory{sighting: sighting{Known: true}, glimpse: Glimpse{LooksWithout: 1}, unreadySince: time.Now()}
	d.memories.Change(1, func(m *sightMemory) {
		*m = want
		m.watched, m.followed = tmux.Process{PID: 7}, tmux.Process{PID: 7}
	})
	d.memories.Change(2, func(m *sightMemory) { m.watched = tmux.Process{PID: 8} })
	DropWatches(d)
	equal(t, "remembered", d.memories.Of(1), want)
	equal(t, "agents … are remembered", engine.Remembered(d.Engine), []int64{1})
}
