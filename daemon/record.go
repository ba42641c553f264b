package daemon

import (
	"context"
	"log/slog"
	"time"

	"github.com/understudyd/understudy/data"
)

// Record is what a handoff keeps beside its row: all that was passed on, so that it can be passed
// on again. It is written in the move into recorded.
type Record struct {
	HandoffID  int64            `json:"handoff_id"`
	AgentID    int64            `json:"agent_id"`   // the outgoing agent
	Agent      string           `json:"agent"`      // its name
	Persona    string           `json:"persona"`    // what it played
	Document   string           `json:"document"`   // as it was verified
	Context    string           `json:"context"`    // the context file
	Messages   []data.Message   `json:"messages"`   // of this agent's session alone, the oldest first
	Decisions  []data.Decision  `json:"decisions"`  // of this document alone
	References []data.Reference `json:"references"` // files that this agent's work touched
	// Progress: the agent touched a file, committed or decided something.
	Progress bool      `json:"progress"`
	At       time.Time `json:"at"`
}

// contextIntact reports whether the context file holds what was recorded. It stands where an agent
// may write: whatever is there now is read as carefully as a document.
func (d *Daemon) contextIntact(h *Handoff) bool {
	file, err := data.ReadDocument(d.Data.Handoffs(h.Persona), *h.ContextPath, h.Metrics.ContextSizeBytes)
	return err == nil && file.SHA256 == *h.ContextChecksum
}

// logHandoff logs one of the moments of a handoff that scripts look for, always with the same keys.
func (d *Daemon) logHandoff(h *Handoff, moment string, level slog.Level, trouble string) {
	d.Log.Log(context.Background(), level, moment, "handoff_id", h.ID, "source_agent", h.SourceAgent, "target_agent", h.TargetAgent,
		"duration_ms", h.Metrics.DurationMS, "context_size", h.Metrics.ContextSizeBytes,
		"messages_transferred", h.Metrics.MessagesTransferred, "decisions_transferred", h.Metrics.DecisionsTransferred,
		"context_validated", h.ContextValidated, "error", trouble)
}
