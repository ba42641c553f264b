package daemon

import (
	"encoding/json"
	"time"
)

// Event is one row of the log that the feed, the audit and the dashboard read. Ids are assigned
// in commit order, so a reader that asks for what came after an id misses nothing.
type Event struct {
	ID         int64           `json:"id"`
	Type       string          `json:"type"`
	At         time.Time       `json:"at"`
	Host       string          `json:"host"`
	AgentID    *int64          `json:"agent_id"`
	HandoffID  *int64          `json:"handoff_id"`
	PipelineID *int64          `json:"pipeline_id"`
	StepID     *int64          `json:"step_id"`
	Payload    json.RawMessage `json:"payload"`

	Alert bool `json:"-"` // the operator must be told
}

// of has what happens to an agent of a run happen to the run as well.
func (e *Event) of(a *Agent) *Event {
	e.PipelineID, e.StepID = a.PipelineID, a.StepID
	return e
}
