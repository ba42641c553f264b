package memory

import (
	"context"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/storetext"
)

// Audit returns the events that match the filter, the newest first; 100 if it has no limit.
func (s *Store) Audit(ctx context.Context, f daemon.AuditFilter) ([]event.Event, error) {
	leave, err := s.enter(ctx, "audit")
	if err != nil {
		return nil, err
	}
	defer leave()
	text, persona := strings.ToLower(storetext.Text(f.Text)), storetext.Text(f.Persona)
	since, until := micros(f.Since), micros(f.Until)
	return collectEvents(&s.view, s.events.newest(), limitOr(f.Limit, 100), func(e *eventRow) bool {
		return (f.Before == 0 || e.ID < f.Before) &&
			(len(f.Types) == 0 || slices.Contains(f.Types, string(e.Type))) &&
			strings.HasPrefix(string(e.Type), f.TypePrefix) &&
			matches(e.AgentID, f.AgentID) && matches(e.HandoffID, f.HandoffID) && matches(e.PipelineID, f.PipelineID) &&
			(f.Host == "" || e.Host == f.Host) &&
			(f.Persona == "" || s.plays(e.AgentID, persona)) &&
			(f.Since.IsZero() || !e.At.Before(since)) &&
			(f.Until.IsZero() || e.At.Before(until)) &&
			(strings.Contains(strings.ToLower(string(e.Type)), text) || strings.Contains(strings.ToLower(string(e.Payload)), text))
	}), nil
}

func (s *Store) plays(agentID *int64, persona string) bool {
	if agentID == nil {
		return false
	}
	a := s.agents.get(*agentID)
	return a != nil && a.Persona != nil && *a.Persona == persona
}
