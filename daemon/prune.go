package daemon

import (
	"context"
	"time"
)

// LogSettings say how long events and hooks are kept. Zero: for ever.
type LogSettings struct {
	MaxAge  time.Duration `yaml:"max_age"` // of events and hooks
	MaxRows int64         `yaml:"-"`       // how many events are kept, the newest; hooks are deleted by age only
}

// DefaultLog holds the settings that apply if the operator sets none.
var DefaultLog = LogSettings{MaxAge: 720 * time.Hour, MaxRows: 1_000_000}

// PruneForecast counts the rows that pruning would delete.
type PruneForecast interface {
	// WouldPrune counts the rows that repeated calls of PruneEvents and PruneHooks with l, and of PruneHistory with
	// history, would delete. If history is the zero time, it counts no history.
	WouldPrune(ctx context.Context, l PruneLimits, history time.Time) (PruneReport, error)
}

// LogFloor says how far the event log has been pruned.
type LogFloor struct {
	PrunedTo int64 // id of the newest event that was deleted; some before it may be kept
	Oldest   int64 // id of the first event after PrunedTo
}

// PruneLimits say which events and hooks are deleted.
type PruneLimits struct {
	Before time.Time // older ones are deleted; zero: none is deleted by age
	Rows   int64     // if there are more events than Rows, the oldest are deleted; 0: none is deleted by number
	Max    int       // how many one call deletes at most; 0: 5000
}

// NeverPruned is how long events are kept whatever the limits say. The daemon counts in them how many messages an agent
// has sent.
const NeverPruned = PeerWindow

// PeerWindow is the time in which the messages are counted that an agent has sent to others.
const PeerWindow = 10 * time.Minute

// Pruned is how much of the event log, or of the hooks, was deleted.
type Pruned struct {
	Rows   int64
	Newest *time.Time // when the newest deleted row was made; nil: none was deleted
}

// PrunedHistory is how many rows of ended pipelines, agents and handoffs were deleted.
type PrunedHistory struct {
	Pipelines, Agents, Handoffs int64
}

// PruneReport is how many rows Prune has deleted or would delete.
type PruneReport struct {
	Events    int64 `json:"events"`
	Hooks     int64 `json:"hooks"` // without those that are deleted with their agents
	Agents    int64 `json:"agents"`
	Handoffs  int64 `json:"handoffs"`
	Pipelines int64 `json:"pipelines"`
}
