package daemon

import (
	"time"
)

// AuditFilter says which events an audit returns. A field that is zero excludes no event.
type AuditFilter struct {
	Types      []string
	TypePrefix string
	AgentID    int64
	HandoffID  int64
	PipelineID int64
	Host       string
	Persona    string    // slug of the persona that the event's agent plays
	Since      time.Time // events at this time or after it
	Until      time.Time // events before this time
	Text       string    // the type or the payload contains it, in upper or lower case
	Before     int64     // events with a smaller id
	Limit      int       // at most so many events; 0: 100
}
