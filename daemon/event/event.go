// Package event is the vocabulary of the event log: its rows, their types, which events the operator must be told
// about, and the sentence of each event for people. It has values only. The store gives the events their ids, in the
// order of the commits.
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

	Alert  bool   `json:"-"` // the operator must be told about the event
	Notice Notice `json:"-"` // the operator is told about the event if they want notices of this kind
	// Cause names a cause that several events may share, such as the tmux server that ended. Alerts with the same Cause
	// are reported together, and so are notices. "": the event shares its cause with no other.
	Cause string `json:"-"`
}

// Notice is a kind of event, other than a failure, that operators may want to be told about.
type Notice string

// The kinds of notices.
const (
	NoticeNone      Notice = ""
	NoticeWaiting   Notice = "waiting"   // an agent or a pipeline waits for a person
	NoticeCompleted Notice = "completed" // a handoff or a pipeline is done
	NoticeFinished  Notice = "finished"  // an agent has finished its turn; it is given to an event only if that is wanted of the agent
)

// FeedTruncated is the type of an event that is not in the log. The feed begins with this event if the log no longer
// has all events that the reader asks for. The payload is {"after": A, "oldest": B}: the reader asked for the events
// after id A, and the log has all events from id B on.
const FeedTruncated Type = "feed_truncated"

// For sets the pipeline and the step that the event's agent works for, so that the pipeline's log shows the event as
// well. It changes and returns e.
func (e *Event) For(pipeline, step *int64) *Event {
	e.PipelineID, e.StepID = pipeline, step
	return e
}

// List returns a list with the event; no event: an empty one.
func (e *Event) List() []*Event {
	if e == nil {
		return nil
	}
	return []*Event{e}
}

// TiedNoSession is a value of the member "tied" in the payload of an agent_ended event. It means that the agent never
// had a session, so no session can be opened again. Any other value names the handoff or the pipeline that starts the
// agent's successor.
const TiedNoSession = "it never had a session"

// TiedNoConversation is such a value as well. It means that the runtime has no conversation of the agent's session: there never
// was one, or it is gone.
const TiedNoConversation = "its session has no conversation"

// The beginnings of an [Event.Cause].
const (
	CauseTrouble = "trouble "     // the code of the trouble follows
	CauseLimit   = "limit "       // the kind of the limit and what is done about it follow
	CauseServer  = "tmux server " // the server's process id, its start and its socket follow
	CauseTarget  = "target "      // the name of a target of notifications follows
)
