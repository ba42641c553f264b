package event

// Filter selects events of the log: those that match every field. A field with its zero value matches all events.
type Filter struct {
	After      int64
	Types      []string
	AgentID    int64
	HandoffID  int64
	PipelineID int64
	Limit      int // at most this many events; 0: 500
}
