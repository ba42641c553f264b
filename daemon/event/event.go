// Package event is the vocabulary of the event log: its rows, their types, what the operator must be told of, and each
// event's sentence for people. It holds values alone: the store gives events their ids in commit order.
package event

import (
	"encoding/json"
	"time"
)

// Event is one row of the log that the feed, the audit and the dashboard read. Ids are assigned
// in commit order, so a reader that asks for what came after an id misses nothing.
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
const FeedTruncated Type = "feed_truncated"

// For says that what happened to an agent of a pipeline's step happened to the pipeline as well.
func (e *Event) For(pipeline, step *int64) *Event {
	e.PipelineID, e.StepID = pipeline, step
	return e
}

// TiedNoSession is the member "tied" of an agent's end: its session cannot be opened again, because it never had one. Else
// the member names the handoff or the pipeline that starts the agent's successor.
const TiedNoSession = "it never had a session"

// What [Event.Cause] begins with.
const (
	CauseTrouble = "trouble "     // and its code
	CauseServer  = "tmux server " // and which one
)
