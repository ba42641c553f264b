package daemon

import (
	"encoding/json"
	"time"
)

// Event is one row of the log that the feed, the audit and the dashboard read. Ids are assigned
// in commit order, so a reader that asks for what came after an id misses nothing.
type Event struct {
	ID         int64           `json:"id"`
	Type       EventType       `json:"type"`
	At         time.Time       `json:"at"`
	Host       string          `json:"host"`
	AgentID    *int64          `json:"agent_id"`
	HandoffID  *int64          `json:"handoff_id"`
	PipelineID *int64          `json:"pipeline_id"`
	StepID     *int64          `json:"step_id"`
	Payload    json.RawMessage `json:"payload"`

	Alert  bool   `json:"-"` // the operator must be told
	Notice Notice `json:"-"` // the operator is told if they want it
	// Cause names what the event came of where others come of the same: the operator is told of them together.
	Cause string `json:"-"`
}

// Notice is a kind of event, apart from failures, that operators may want to be told of.
type Notice string

// The kinds of notices.
const (
	NoticeNone      Notice = ""
	NoticeWaiting   Notice = "waiting"   // somebody waits for a person
	NoticeCompleted Notice = "completed" // a handoff or a run is done
)

// FeedTruncated is the type of an event that is in no log: the feed begins with it where the log has not
// kept what the reader asks for. Its payload is {"after": the reader's id, "oldest": the event from which
// on nothing is missing}.
const FeedTruncated EventType = "feed_truncated"

// of has what happens to an agent of a run happen to the run as well.
func (e *Event) of(a *Agent) *Event {
	e.PipelineID, e.StepID = a.PipelineID, a.StepID
	return e
}
