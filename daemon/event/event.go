// Package event is the vocabulary of the event log: its rows, their types, what the operator must be told of, and the
// sentence of each event for people. It holds values only; the store gives events their ids, in the order of the commits.
package event

import (
	"encoding/json"
	"time"
)

// Event is one row of the event log, which the feed, the audit and the dashboard read. The store assigns ids in the
// order of the commits, so a reader that asks for the events after an id misses none.
type Event struct {
	ID         int64           `json:"id"`
	Type       Type            `json:"type"`
	At         time.Time       `json:"at"`
	Host       string          `json:"host"`
	AgentID    *int64          `json:"agent_id"`
	HandoffID  *int64          `json:"handoff_id"`
	PipelineID *int64          `json:"pipeline_id"`
	StepID     *int64          `json:"step_id"`
	Payload    json.RawMessage `json:"payload"`

	Alert  bool   `json:"-"` // the operator must be told
	Notice Notice `json:"-"` // the operator is told if they want it
	// Cause names what the event came of, if other events come of the same: the operator is told of them together.
	Cause string `json:"-"`
}

// Notice is a kind of event, other than a failure, that operators may want to be told of.
type Notice string

// The kinds of notices.
const (
	NoticeNone      Notice = ""
	NoticeWaiting   Notice = "waiting"   // an agent or a pipeline waits for a person
	NoticeCompleted Notice = "completed" // a handoff or a pipeline is done
)

// FeedTruncated is the type of an event that is not in the log. The feed begins with it if the log no longer has all
// that the reader asks for. Its payload is {"after": the id that the reader gave, "oldest": the first event from
// which on none is missing}.
const FeedTruncated Type = "feed_truncated"

// For names the pipeline and the step that the event's agent works for, so that the event stands in the pipeline's
// log as well. It changes and returns e.
func (e *Event) For(pipeline, step *int64) *Event {
	e.PipelineID, e.StepID = pipeline, step
	return e
}

// TiedNoSession is a value of the member "tied" of an agent_ended event: the agent's session cannot be opened again,
// because the agent never had one. Otherwise the member names the handoff or the pipeline that starts the agent's
// successor.
const TiedNoSession = "it never had a session"

// The words that an [Event.Cause] begins with.
const (
	CauseTrouble = "trouble "     // then the code of the trouble
	CauseServer  = "tmux server " // then the server
)
