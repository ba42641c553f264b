package handoffs

import (
	"log/slog"
	"testing"

	"github.com/understudyd/understudy/daemon/engine"
)

// TestMemoryKeepsTheForkOfAnEndedAgent: a document can be generated from the session of an agent that has ended.
func TestMemoryKeepsTheForkOfAnEndedAgent(t *testing.T) {
	t.Parallel()
	d := testFlow(engine.Config{Log: slog.New(slog.DiscardHandler)})
	if !takeForkPlace(&d.Forks, 1) {
		t.Fatal("no place is free")
	}
	engine.Forget(d.Engine, 1)
	equal(t, "forks of agents … are remembered", d.ForkedAgents(), []int64{1})
	d.EndFork(1)
	equal(t, "remembered after the fork", len(d.ForkedAgents()), 0)
}
