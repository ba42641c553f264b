package views

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// EventTypes returns the types of the events that a daemon logs, sorted: those of package event, and one for each phase of
// a handoff.
var EventTypes = sync.OnceValue(func() []event.Type {
	all := slices.Clone(event.Types())
	for _, p := range slices.Concat(daemon.OpenPhases(), []daemon.Phase{daemon.Completed, daemon.Failed, daemon.Cancelled}) {
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
		return daemon.Errorf(daemon.KindInvalid, daemon.CodeInvalidParameter, "%.80q is no type of event: the nearest are %s, %s, %s", t, like[0], like[1], like[2])
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
