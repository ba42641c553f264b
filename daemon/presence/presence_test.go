package presence

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestSpent: the time in which the daemon was there counts against a deadline, whatever the clock shows.
func TestSpent(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	for name, tt := range map[string]struct {
		proofs      []int // times of the wall clock, in seconds after start
		since, now  int
		wantSeconds int
	}{
		"no gap":                                    {[]int{1, 2, 3, 4, 5, 6}, 0, 6, 6},
		"a slow sweep":                              {[]int{1, 6}, 0, 7, 7},
		"sleep of an hour":                          {[]int{1, 3601}, 0, 3602, 3},
		"sleep that has just ended":                 {[]int{1}, 0, 3601, 2},
		"sleep before the wait":                     {[]int{1, 3601}, 3601, 3605, 4},
		"wait that began in a sleep":                {[]int{1, 3601}, 3000, 3605, 5},
		"two sleeps":                                {[]int{1, 101, 201}, 0, 202, 4},
		"clock set back":                            {[]int{1, 2, -3597, -3592}, 0, -3587, 12},
		"clock set back just now":                   {[]int{1, 2}, 0, -3598, 2},
		"wait after a step back":                    {[]int{1, 2, -3597}, -3596, -3593, 3},
		"wait that begins in the future":            {[]int{1}, 5, 2, 0},
		"wait between two steps back":               {[]int{1, -3600, -3599}, -3600, -3598, 2},
		"wait after two steps back":                 {[]int{1, -3600, -3599, -7200}, -7199, -7198, 1},
		"wait before two steps back":                {[]int{1, -3600, -3599, -7200}, 0, -7198, 4},
		"clock set back, then forward":              {[]int{1, -3600, -3599, 100}, 0, 101, 4},
		"wait that began as the clock was set back": {[]int{1, -3600}, 2, -3597, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var p Presence
				p.Begin(start)
				for _, s := range tt.proofs {
					p.Prove(at(s))
				}
				wardentest.Equal(t, "spent", p.Spent(at(tt.since), at(tt.now)), time.Duration(tt.wantSeconds)*time.Second)
			})
		})
	}
}

// TestSpentSinceTheFuture: a wait whose begin is still to come, by no step of the clock that is known, begins when
// Spent is asked first.
func TestSpentSinceTheFuture(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var p Presence
	p.Begin(start)
	for s := range time.Duration(5) {
		wardentest.Equal(t, fmt.Sprintf("after %d s", s), p.Spent(start.Add(time.Hour), start.Add(s*time.Second)), s*time.Second)
		p.Prove(start.Add(s * time.Second))
	}
}

// TestSpentSinceRightAfterAStepBack: a wait that began after the clock was set back and before the next proof has
// spent the time since then, though the clock had shown its begin an hour before.
func TestSpentSinceRightAfterAStepBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p Presence
		start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		p.Begin(start)
		p.Prove(start.Add(time.Second))
		<-time.After(time.Second)
		p.Prove(start.Add(-30 * time.Minute))
		p.Prove(start.Add(-time.Hour))
		<-time.After(900 * time.Millisecond)
		back := start.Add(-time.Hour - time.Minute)
		p.Prove(back)
		wardentest.Equal(t, "across the step back", p.Spent(back.Add(-500*time.Millisecond), back.Add(time.Second)), 1500*time.Millisecond)
	})
}

// TestSpentSinceAFreezeBeforeAStepBack: a wait began while the daemon was frozen, and then the clock was set back. It did not begin before the daemon,
// whose clock had been set back once before.
func TestSpentSinceAFreezeBeforeAStepBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p Presence
		start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		p.Begin(start)
		p.Prove(start.Add(-time.Hour))
		<-time.After(20 * time.Second)
		p.Prove(start.Add(-2 * time.Hour))
		spent := p.Spent(start.Add(-time.Hour+10*time.Second), start.Add(-2*time.Hour+time.Second))
		wardentest.Equal(t, "spent", spent, ProveEvery+time.Second)
	})
}

// TestEarliest: the earliest time since a time is that time, or the one that the clock was set back to after it.
func TestEarliest(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	synctest.Test(t, func(t *testing.T) { checkEarliest(t, start, at) })
}

func checkEarliest(t *testing.T, start time.Time, at func(int) time.Time) {
	var p Presence
	p.Begin(start)
	for _, s := range []int{1, 2, -10, -9, -20, 30} {
		p.Prove(at(s))
	}
	for since, want := range map[int]int{1: -20, -10: -20, -9: -20, -20: -20, 30: 30, -30: -30} {
		if got := p.Past(at(31)).Earliest(at(since)); !got.Equal(at(want)) {
			t.Errorf("since %d s: %s, want %d s", since, got.Sub(start), want)
		}
	}
	if got := p.Past(at(31)).Earliest(at(100)); !got.IsZero() {
		t.Errorf("of a time that is still to come: %s", got)
	}
}

// TestEarliestAfterAPause: the clock was set back while the daemon did nothing for long, at some moment since its last proof.
func TestEarliestAfterAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p Presence
		start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		p.Begin(start)
		p.Prove(start.Add(time.Second))
		<-time.After(3 * absentAfter)
		back := start.Add(-time.Hour)
		if got, want := p.Past(back).Earliest(start), back.Add(-3*absentAfter); !got.Equal(want) {
			t.Errorf("got %s, want %s", got, want)
		}
		p.Prove(back)
		if got, want := p.Past(back.Add(time.Second)).Earliest(start), back.Add(-3*absentAfter); !got.Equal(want) {
			t.Errorf("after the proof: got %s, want %s", got, want)
		}
	})
}

// TestAfter: a clock that was set back shows again what it showed before, and has not shown what lies between. Before a step it may have gone on for
// absentAfter beyond the last proof, or for as long as the daemon was frozen.
func TestAfter(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	back, both, far := []int{1, 2, -3, -1, 1, 3, 5, 7, 9}, []int{1, 100, 101, 50}, []int{1, 5, 10, -100}
	for name, c := range map[string]struct {
		proofs      []int
		frozen      time.Duration // before the last proof
		now, since  int
		want, first string
	}{
		"shown twice":                    {back, 0, 10, 1, "1..10", "-3..10"},
		"right before the step":          {back, 0, 10, 4, "4..10", "-3..10"},
		"after the step":                 {back, 0, 10, 8, "8..10", "8..10"},
		"in the future":                  {back, 0, 10, 100, "-120..120", "-120..120"},
		"set forward, and back":          {both, 0, 52, 1, "1..106", "1..106"},
		"between the two":                {both, 0, 52, 100, "50..52 100..106", "50..52 100..106"},
		"after both":                     {both, 0, 52, 50, "50..52", "50..52"},
		"before the daemon":              {both, 0, 52, -1, "-1..120", "-1..120"},
		"set far back":                   {far, 0, -97, 8, "-100..-97 8..15", "-100..-97 8..15"},
		"after a step far back":          {far, 0, -97, -99, "-99..-97", "-99..-97"},
		"set far back in a freeze":       {far, 20 * time.Second, -97, 8, "-120..-97 8..30", "-120..-97 8..30"},
		"within a freeze":                {far, 20 * time.Second, -97, 25, "-120..-97 25..30", "-120..-97 25..30"},
		"in a freeze, and shown again":   {[]int{1, 5, 10, -5}, 20 * time.Second, 26, 25, "25..26", "-25..30"},
		"set back by less than a freeze": {[]int{1, 9}, 20 * time.Second, 10, 1, "1..21", "1..21"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var p Presence
				p.Begin(start)
				for i, s := range c.proofs {
					if i == len(c.proofs)-1 {
						<-time.After(c.frozen)
					}
					p.Prove(at(s))
				}
				past := p.Past(at(c.now))
				wardentest.Equal(t, "since the last moment", spans(past.After(at(c.since)), at), c.want)
				wardentest.Equal(t, "since the first moment", spans(past.AfterFirst(at(c.since)), at), c.first)
				wardentest.Equal(t, "a time in milliseconds", past.After(at(c.since).Add(1234567))(at(c.since).Add(time.Millisecond)), true)
			})
		})
	}
}

// spans returns the seconds that are shown.
func spans(shown func(at time.Time) bool, at func(int) time.Time) string {
	var out []string
	for s, first := -120, 0; s <= 121; s++ {
		switch is, was := s <= 120 && shown(at(s)), s > -120 && shown(at(s-1)); {
		case is && !was:
			first = s
		case was && !is:
			out = append(out, fmt.Sprintf("%d..%d", first, s-1))
		}
	}
	return strings.Join(out, " ")
}
