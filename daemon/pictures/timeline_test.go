package pictures

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestSpans: the states of an agent in a span of time. What the log does not tell is left out, and what the row tells counts.
func TestSpans(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 5, 6, 7, 0, 0, 0, time.UTC)
	at := func(minute int) time.Time { return begin.Add(time.Duration(minute) * time.Minute) }
	parse := func(changes string) (out []daemon.StateChange) {
		for _, word := range strings.Fields(changes) {
			var minute int
			var state string
			wardentest.Value(fmt.Sscanf(word, "%d%s", &minute, &state))(t)
			out = append(out, daemon.StateChange{At: at(minute), State: daemon.AgentState(state)})
		}
		return out
	}
	for _, c := range []struct {
		what, changes string
		created       int
		state         daemon.AgentState
		since, ended  int // ended 0: it lives
		each          int
		want          string
		whole         bool
	}{
		{what: "a turn", changes: "1starting 2idle 5working 9idle", created: 1, state: daemon.Idle, since: 9, want: "1-2starting 2-5idle 5-9working 9-60idle", whole: true},
		{what: "it began before", changes: "-9working 9idle", created: -30, state: daemon.Idle, since: 9, want: "0-9working 9-60idle", whole: true},
		{what: "it ended", changes: "-9working 9idle 20ended", created: -30, state: daemon.Ended, since: 20, ended: 20, want: "0-9working 9-20idle", whole: true},
		{what: "its first events are pruned", changes: "30working 40idle", created: -30, state: daemon.Idle, since: 40, want: "30-40working 40-60idle"},
		{what: "all its events are pruned", created: -30, state: daemon.Waiting, since: -20, want: "0-60waiting", whole: true},
		{what: "its last event is of another version", changes: "1idle", created: 1, state: daemon.Working, since: 30, want: "1-30idle 30-60working", whole: true},
		{what: "the same state twice", changes: "1idle 5waiting 7waiting 9working", created: 1, state: daemon.Working, since: 9, want: "1-5idle 5-9waiting 9-60working", whole: true},
		{what: "more than were read", changes: "-9idle 50working 55idle", created: -30, state: daemon.Idle, since: 55, each: 2, want: "50-55working 55-60idle"},
		{what: "it changed later", changes: "-9idle", created: -30, state: daemon.Ended, since: 90, ended: 90, want: "0-60idle", whole: true},
	} {
		l := daemon.AgentLife{CreatedAt: at(c.created), State: c.state, StateAt: at(c.since)}
		if c.ended != 0 {
			end := at(c.ended)
			l.EndedAt = &end
		}
		if c.each == 0 {
			c.each = 100
		}
		list, whole := spans(&l, parse(c.changes), daemon.SpanQuery{Since: at(0), Until: at(60), Each: c.each})
		var got []string
		for _, s := range list {
			got = append(got, fmt.Sprintf("%.0f-%.0f%s", s.From.Sub(begin).Minutes(), s.Until.Sub(begin).Minutes(), s.State))
		}
		if text := strings.Join(got, " "); text != c.want || whole != c.whole {
			t.Errorf("%s: %s, whole %v; want %s, %v", c.what, text, whole, c.want, c.whole)
		}
	}
}

// TestSparkOfATimeline: a line of blocks from the first sample to the end of the agent, or nothing.
func TestSparkOfATimeline(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 5, 6, 7, 0, 0, 0, time.UTC)
	percent := func(v float64) *float64 { return &v }
	end := begin.Add(48 * time.Minute)
	line := Timeline{From: begin, Until: begin.Add(time.Hour), Lives: []Life{
		{AgentLife: daemon.AgentLife{ID: 1, EndedAt: &end}, Context: []daemon.ContextSample{
			{At: begin.Add(-time.Hour), Percent: percent(0)}, {At: begin.Add(time.Minute)}, {At: begin.Add(24 * time.Minute), Percent: percent(50)}, {At: begin.Add(46 * time.Minute), Percent: percent(100)}}},
		{AgentLife: daemon.AgentLife{ID: 2}, Context: []daemon.ContextSample{{At: begin, Percent: percent(3)}}},
	}}
	for id, want := range map[int64]string{1: strings.Repeat("▁", 11) + strings.Repeat("▅", 11) + "██ in 48 min", 2: "", 3: ""} {
		wardentest.Equal(t, fmt.Sprintf("agent %d", id), line.Spark(id), want)
	}
}
