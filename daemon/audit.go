package daemon

import (
	"context"
	"time"

	"github.com/understudyd/understudy/daemon/event"
)

// AuditFilter narrows the log as people look at it, from its newest event back; zero values do not.
type AuditFilter struct {
	Types      []string
	TypePrefix string
	AgentID    int64
	HandoffID  int64
	PipelineID int64
	Host       string
	Persona    string    // of the agent that an event is about
	Since      time.Time // events at that time or after it
	Until      time.Time // events before that time
	Text       string    // in the type or the payload, whatever its case
	Before     int64     // id
	Limit      int       // 0: 100
}

// Audit returns events, the newest first. A search that takes too long is an [Error].
func (d *Daemon) Audit(ctx context.Context, f AuditFilter) ([]event.Event, error) {
	return d.Store.Audit(ctx, f)
}
