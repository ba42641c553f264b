package daemon

import (
	"testing"
	"time"
)

// TestSpent: what counts against a deadline is the time in which the daemon was there, whatever the clock says.
func TestSpent(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	for name, tt := range map[string]struct {
		proofs      []int // on the wall clock, in seconds from the start
		since, now  int
		wantSeconds int
	}{
		"always there":                 {[]int{1, 2, 3, 4, 5, 6}, 0, 6, 6},
		"a slow sweep":                 {[]int{1, 6}, 0, 7, 7},
		"slept for an hour":            {[]int{1, 3601}, 0, 3602, 3},
		"sleeps, and has just woken":   {[]int{1}, 0, 3601, 2},
		"slept before it began":        {[]int{1, 3601}, 3601, 3605, 4},
		"began while it slept":         {[]int{1, 3601}, 3000, 3605, 5},
		"slept twice":                  {[]int{1, 101, 201}, 0, 202, 4},
		"the clock was set back":       {[]int{1, 2, -3597}, 0, -3587, 12},
		"the clock was set back, now":  {[]int{1, 2}, 0, -3598, 2},
		"began after it was set back":  {[]int{1, 2, -3597}, -3596, -3593, 3},
		"nothing is less than nothing": {[]int{1}, 5, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p presence
			p.begin(start)
			for _, s := range tt.proofs {
				p.prove(at(s))
			}
			if got := p.spent(at(tt.since), at(tt.now)); got != time.Duration(tt.wantSeconds)*time.Second {
				t.Errorf("got %v, want %d s", got, tt.wantSeconds)
			}
		})
	}
}
