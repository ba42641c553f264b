package daemon

import (
	"context"
	"time"
)

// TimelineStore keeps and reads what pictures of time are drawn from.
type TimelineStore interface {
	// AgentLives lists the agents that lived between q.Since and q.Until, the newest first.
	AgentLives(ctx context.Context, q LifeQuery) ([]AgentLife, error)
	// StateChanges returns, from the event log, the changes of the agents' states from q.Since to before q.Until, in the order
	// of the agents and then of the times. Of each agent it returns the newest q.Each, and the last change before q.Since.
	StateChanges(ctx context.Context, q SpanQuery) ([]StateChange, error)
	// ContextSamples returns samples of how full the agents' context windows were, chosen and ordered as StateChanges does.
	ContextSamples(ctx context.Context, q SpanQuery) ([]ContextSample, error)
	// CompletedMetrics returns the metrics of the newest completed handoffs, at most limit (0: 100), without those of one of them.
	CompletedMetrics(ctx context.Context, except int64, limit int) ([]Metrics, error)
	// PruneSamples deletes some samples that are older than l.Before, the oldest first. If it deletes none, none is left to
	// delete. The other limits of l are those of events.
	PruneSamples(ctx context.Context, l PruneLimits) (Pruned, error)
}

// LifeQuery selects agents by when they lived. Without IDs it selects all.
type LifeQuery struct {
	IDs          []int64
	Since, Until time.Time
	Limit        int // 0: 100
}

// AgentLife is what a picture needs of an agent.
type AgentLife struct {
	ID              int64      `json:"agent_id"`
	Name            string     `json:"name"`
	Persona         string     `json:"persona"` // "": none
	Generation      int        `json:"generation"`
	PreviousAgentID *int64     `json:"previous_agent_id"`
	State           AgentState `json:"state"`
	StateAt         time.Time  `json:"state_at"`
	CreatedAt       time.Time  `json:"created_at"`
	EndedAt         *time.Time `json:"ended_at"`
}

// SpanQuery selects what happened to agents in a span of time.
type SpanQuery struct {
	AgentIDs     []int64
	Since, Until time.Time
	Each         int // the most for each agent; 0: 500
}

// StateChange says that an agent has reached a state.
type StateChange struct {
	AgentID int64
	State   AgentState
	At      time.Time
}

// ContextSample says how full an agent's context window was.
type ContextSample struct {
	AgentID int64     `json:"-"`
	At      time.Time `json:"at"`
	Tokens  int64     `json:"tokens"`
	Percent *float64  `json:"percent"` // nil: the size of the window is not known
}

const (
	// samplePercent and sampleTokens are the steps in which a change of the use of a context window is noticeable: an agent
	// leaves some fifty samples while its window fills up, however often it reports.
	samplePercent = 2
	sampleTokens  = 4000 // if the size of the window is not known
)

// Sampled reports whether the use differs noticeably from the one before, which may be nil.
func (u *ContextUse) Sampled(was *ContextUse) bool {
	switch {
	case was == nil || (was.Percent == nil) != (u.Percent == nil):
		return true
	case u.Percent == nil:
		return was.Tokens/sampleTokens != u.Tokens/sampleTokens
	}
	return int(*was.Percent/samplePercent) != int(*u.Percent/samplePercent)
}
