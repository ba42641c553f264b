package daemon

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon/event"
)

// EventTypes returns the types of the events that a daemon logs, sorted: those of package event, and one for each phase of
// a handoff.
var EventTypes = sync.OnceValue(func() []event.Type {
	all := slices.Clone(event.Types())
	for _, p := range slices.Concat(OpenPhases(), []Phase{Completed, Failed, Cancelled}) {
		all = append(all, event.Of("handoff", p))
	}
	slices.Sort(all)
	return slices.Compact(all)
})

// CheckEventTypes refuses a type that no event has, and names the three that are spelled most like it. A subscriber to a
// misspelled type would wait for ever.
func CheckEventTypes(types []string) error {
	for _, t := range types {
		like := EventTypes()
		if slices.Contains(like, event.Type(t)) {
			continue
		}
		like = slices.Clone(like)
		slices.SortStableFunc(like, func(a, b event.Type) int {
			return cmp.Compare(spellingDistance(t, string(a)), spellingDistance(t, string(b)))
		})
		return Errorf(KindInvalid, CodeInvalidParameter, "%.80q is no type of event: the nearest are %s, %s, %s", t, like[0], like[1], like[2])
	}
	return nil
}

// spellingDistance returns how many letters must be inserted, removed or replaced to make b from a (Levenshtein). If b
// contains a, it returns a quarter of that number.
func spellingDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := last
			if a[i] != b[j] {
				change++
			}
			last = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	if a != "" && strings.Contains(b, a) {
		return row[len(b)] / 4
	}
	return row[len(b)]
}

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

// Audit returns events, the newest first. If the search takes too long, it returns an [Error].
func (d *Daemon) Audit(ctx context.Context, f AuditFilter) ([]event.Event, error) {
	return d.Store.Audit(ctx, f)
}

// event makes an event of this host.
func (d *Daemon) event(typ event.Type, agentID, handoffID *int64, payload map[string]any) *event.Event {
	f := Facts{Host: d.Host, Now: d.now()}
	return f.event(typ, agentID, handoffID, payload)
}

// alert stores an alert that is about no agent. If it can't be stored, only the process's log has it.
func (d *Daemon) alert(typ event.Type, message string) {
	if err := d.storeAlert(typ, message); err != nil {
		d.Log.Error("event not stored", "type", typ, "message", message, "error", err)
	}
}

// storeAlert stores an alert that is about no agent. It goes on even if the context of a request ends.
func (d *Daemon) storeAlert(typ event.Type, message string) error {
	e := d.event(typ, nil, nil, map[string]any{"message": message})
	e.Alert = true
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return d.commit(ctx, &Change{Events: []*event.Event{e}})
}

// pipelineEvent makes an event about a pipeline and the step s, with the newest agent of s; nil: about no step.
func (d *Daemon) pipelineEvent(typ event.Type, p *Pipeline, s *Step, payload map[string]any) *event.Event {
	if payload == nil {
		payload = map[string]any{}
	}
	payload["status"], payload["title"] = p.Status, p.Title
	e := d.event(typ, nil, nil, nil)
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
