package engine

import (
	"log/slog"
	"slices"
	"testing"
)

// TestMemoryKeepsTheForkOfAnEndedAgent: a document can be generated from the session of an agent that has ended.
func TestMemoryKeepsTheForkOfAnEndedAgent(t *testing.T) {
	t.Parallel()
	d := testFlow(Config{Log: slog.New(slog.DiscardHandler)})
	if !takeForkPlace(&d.forks, 1) {
		t.Fatal("no place is free")
	}
	Forget(d.Engine, 1)
	if ids := d.forkedAgents(); !slices.Equal(ids, []int64{1}) {
		t.Errorf("forks of agents %v are remembered, want one", ids)
	}
	d.endFork(1)
	if ids := d.forkedAgents(); len(ids) != 0 {
		t.Errorf("remembered after the fork: %v", ids)
	}
}
