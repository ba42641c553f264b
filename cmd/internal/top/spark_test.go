package top

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestSparkInTheDetails: the details draw how full an agent's window was, and nothing where that is not known.
func TestSparkInTheDetails(t *testing.T) {
	t.Parallel()
	m := opened(t, snapshot{agents: []daemon.Agent{agent(1, daemon.Idle, 1)}})
	if pressed(m, "enter") == nil {
		t.Fatal("the details are not read")
	}
	m.Update(detailsMsg{key: key{agentRow, 1}})
	if strings.Contains(m.shows(), "over time") {
		t.Errorf("without samples:\n%s", m.shows())
	}
	m.Update(detailsMsg{key: key{agentRow, 1}, spark: "▁▃█ in 2 h"})
	if got := m.bare(); !strings.Contains(got, "over time  ▁▃█ in 2 h") {
		t.Errorf("with samples:\n%s", got)
	}
}
