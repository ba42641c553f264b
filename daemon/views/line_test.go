package views

import (
	"fmt"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

func TestGenerationsHaveEachAgentOnceWithItsHandoff(t *testing.T) {
	t.Parallel()
	handoffs := []daemon.Handoff{
		{ID: 6, AgentID: 2, Generation: 2}, {ID: 5, AgentID: 1, Generation: 1}, {ID: 4, AgentID: 1, Generation: 1, RecordedAt: &noon, Heirs: []daemon.HandoffHeir{{AgentID: new(int64(2))}}},
		{ID: 3, AgentID: 1, Generation: 1},
	}
	shared := daemon.Handoff{ID: 7, AgentID: 1, Generation: 1, Heirs: []daemon.HandoffHeir{{AgentID: new(int64(4))}, {AgentID: new(int64(5))}, {}}}
	for _, tt := range []struct {
		agents   []daemon.Agent
		handoffs []daemon.Handoff
		asked    int64
		want     string
		ends     string
	}{
		{nil, handoffs, 0, "1:1:4 2:2:6 ", "[]"},
		{nil, handoffs, 3, "1:1:3 2:2:6 ", "[]"},
		{[]daemon.Agent{{ID: 3, Generation: 3}}, handoffs, 6, "1:1:4 2:2:6 3:3:0 ", "[]"},
		{[]daemon.Agent{{ID: 2, Generation: 2}}, handoffs[1:], 0, "1:1:4 2:2:0 ", "[2]"},
		{[]daemon.Agent{{ID: 5, Generation: 2}}, append([]daemon.Handoff{{ID: 8, AgentID: 4, Generation: 2}}, shared), 0, "1:1:7 2:4:8 2:5:0 ", "[5]"},
		{nil, nil, 0, "", "[]"},
	} {
		got := ""
		for _, g := range Generations(tt.agents, tt.handoffs, tt.asked) {
			var id int64
			if g.Handoff != nil {
				id = g.Handoff.ID
			}
			got += fmt.Sprintf("%d:%d:%d ", g.N, g.AgentID, id)
		}
		if ends := fmt.Sprint(LineEnds(tt.handoffs)); got != tt.want || ends != tt.ends {
			t.Errorf("asked for %d: %s, ends %s, want %s, ends %s", tt.asked, got, ends, tt.want, tt.ends)
		}
	}
}

func TestLinesReturnForAgentsInACircle(t *testing.T) {
	t.Parallel()
	one, two := int64(1), int64(2)
	circle := []daemon.Agent{{ID: 1, PreviousAgentID: &two}, {ID: 2, PreviousAgentID: &one}}
	if got := Lines(circle, nil); len(got) == 0 {
		t.Error("agents in a circle are not listed")
	}
}
