package daemon

import (
	"context"
	"time"
)

// Census counts the agents, handoffs and pipelines at work on a host.
type Census struct {
	Agents       map[AgentState]int     // active agents
	Trouble      map[string]int         // active agents in trouble, by its code
	WaitingSince *time.Time             // when the longest wait of an active agent for a person began; nil: none waits
	Handoffs     map[Phase]int          // open handoffs
	Pipelines    map[PipelineStatus]int // pipelines that have not ended
}

// CensusReader counts rows.
type CensusReader interface {
	// Census returns the counts of a host. A map has no entry for a count of 0.
	Census(ctx context.Context, host string) (Census, error)
}

// OpenPhases returns the phases of an open handoff, in order.
func OpenPhases() []Phase {
	var phases []Phase
	for _, s := range HandoffSteps {
		phases = append(phases, s.At)
	}
	return phases
}
