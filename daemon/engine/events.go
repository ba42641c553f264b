package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// Audit returns events, the newest first. If the search takes too long, it returns a [daemon.Error].
func (d *Engine) Audit(ctx context.Context, f daemon.AuditFilter) ([]event.Event, error) {
	return d.Store.Audit(ctx, f)
}

// Event makes an event of this host.
func (d *Engine) Event(typ event.Type, agentID, handoffID *int64, payload map[string]any) *event.Event {
	f := Facts{Host: d.Host, Now: d.Now()}
	return f.Event(typ, agentID, handoffID, payload)
}

// Alert stores an alert that is about no agent. If it can't be stored, only the process's log has it.
func (d *Engine) Alert(typ event.Type, message string) {
	if err := d.StoreAlert(typ, message); err != nil {
		d.Log.Error("event not stored", "type", typ, "message", message, "error", err)
	}
}

// StoreAlert stores an alert that is about no agent. It goes on even if the context of a request ends.
func (d *Engine) StoreAlert(typ event.Type, message string) error {
	e := d.Event(typ, nil, nil, map[string]any{"message": message})
	e.Alert = true
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return d.Commit(ctx, &daemon.Change{Events: []*event.Event{e}})
}

// PipelineEvent makes an event about a pipeline and the step s, with the newest agent of s; nil: about no step.
func (d *Engine) PipelineEvent(typ event.Type, p *daemon.Pipeline, s *daemon.Step, payload map[string]any) *event.Event {
	if payload == nil {
		payload = map[string]any{}
	}
	payload["status"], payload["title"] = p.Status, p.Title
	e := d.Event(typ, nil, nil, nil)
	e.PipelineID = &p.ID
	if s != nil {
		e.StepID = &s.ID
		payload["step"], payload["agent_name"], payload["step_status"] = s.OrderIndex+1, s.AgentName, s.Status
		if id := s.NewestAgent(); id != 0 {
			e.AgentID = &id
		}
	}
	e.Payload = event.Payload(payload)
	return e
}

// EventAbout makes an event about an agent, and about the pipeline that it works for; with nil, an event of the host.
func EventAbout(d *Engine, typ event.Type, a *daemon.Agent, payload map[string]any) *event.Event {
	if a == nil {
		return d.Event(typ, nil, nil, payload)
	}
	return d.Event(typ, &a.ID, nil, payload).For(a.PipelineID, a.StepID)
}

// NewID returns an id that nobody can guess.
func NewID(d *Engine) (string, error) {
	b := make([]byte, 9)
	if _, err := d.Random.Read(b); err != nil {
		return "", fmt.Errorf("random id: %w", err)
	}
	return fmt.Sprintf("%x", b), nil
}
