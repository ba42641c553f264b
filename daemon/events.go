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

// EventTypes are the types of the events that a daemon logs, sorted: those of package event, and one for each phase of a
// handoff.
var EventTypes = sync.OnceValue(func() []event.Type {
	all := slices.Clone(event.Types())
	for _, p := range slices.Concat(OpenPhases(), []Phase{Completed, Failed, Cancelled}) {
		all = append(all, event.Of("handoff", p))
	}
	slices.Sort(all)
	return slices.Compact(all)
})

// CheckEventTypes refuses what is no type of event, and names those that are most like it: who asks for one
// that there is not would wait for ever.
func CheckEventTypes(types []string) error {
	for _, t := range types {
		like := EventTypes()
		if slices.Contains(like, event.Type(t)) {
			continue
		}
		like = slices.Clone(like)
		slices.SortStableFunc(like, func(a, b event.Type) int { return cmp.Compare(unlike(t, string(a)), unlike(t, string(b))) })
		return Errorf(KindInvalid, CodeInvalidParameter, "%.80q is no type of event: the nearest are %s, %s, %s", t, like[0], like[1], like[2])
	}
	return nil
}

// unlike is how many letters must be put in, left out or replaced to make one word of the other. Where one
// is a part of the other it is less.
func unlike(a, b string) int {
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
