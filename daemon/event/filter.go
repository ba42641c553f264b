package event

// Filter narrows the event log. Fields with zero values do not narrow it.
type Filter struct {
	After      int64
	Types      []string
	AgentID    int64
	HandoffID  int64
	PipelineID int64
	Limit      int // 0: 500
}
