package pictures

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
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
			if _, err := fmt.Sscanf(word, "%d%s", &minute, &state); err != nil {
				t.Fatal(err)
			}
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
		if got := line.Spark(id); got != want {
			t.Errorf("agent %d: %q, want %q", id, got, want)
		}
	}
}

// TestPipelineTimeline: a row for each step of the template with its rounds, and what each step waited for. A step that the work
// has not come to has no spans.
func TestPipelineTimeline(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 5, 6, 7, 0, 0, 0, time.UTC)
	at := func(minute int) *time.Time {
		if minute < 0 {
			return nil
		}
		v := begin.Add(time.Duration(minute) * time.Minute)
		return &v
	}
	step := func(number, round int, status daemon.StepStatus, started, finished, asked, approved int) daemon.Step {
		return daemon.Step{ID: int64(10*number + round), Number: number, Round: round, AgentName: fmt.Sprint("agent", number), Status: status, StartedAt: at(started),
			FinishedAt: at(finished), Approval: asked >= 0, AskedAt: at(asked), ApprovedAt: at(approved)}
	}
	r := Join(daemon.New(daemon.Config{Host: "h"}))
	for _, c := range []struct {
		what   string
		status daemon.PipelineStatus
		ended  int
		steps  []daemon.Step
		want   string
	}{
		{"with a gate and a second round", daemon.PipelineDone, 60, []daemon.Step{
			step(1, 1, daemon.StepDone, 1, 10, -1, -1), step(2, 1, daemon.StepDone, 21, 30, 12, 20), step(1, 2, daemon.StepDone, 30, 40, -1, -1), step(2, 2, daemon.StepDone, 52, 60, 41, 50)},
			"1 agent1 2 done: queued 0-1 working 1-10 working 30-40 | 2 agent2 2 done: approval 10-20 queued 20-21 working 21-30 approval 40-50 queued 50-52 working 52-60"},
		{"rejected", daemon.PipelineFailed, 30, []daemon.Step{step(1, 1, daemon.StepDone, 0, 10, -1, -1), step(2, 1, daemon.StepFailed, -1, 30, 11, -1), step(3, 1, daemon.StepPending, -1, -1, -1, -1)},
			"1 agent1 1 done: working 0-10 | 2 agent2 1 failed: approval 10-30 | 3 agent3 1 pending:"},
		{"failed, with a step skipped", daemon.PipelineFailed, 30, []daemon.Step{step(1, 1, daemon.StepSkipped, 0, 10, -1, -1), step(2, 1, daemon.StepFailed, 12, 30, -1, -1)},
			"1 agent1 1 skipped: | 2 agent2 1 failed: queued 0-12 working 12-30"},
	} {
		out, err := r.PipelineTimelineOf(t.Context(), &daemon.Pipeline{CreatedAt: begin, FinishedAt: at(c.ended), Status: c.status, Steps: c.steps})
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for _, one := range out.Rows {
			row := fmt.Sprintf("%d %s %d %s:", one.Number, one.Agent, one.Rounds, one.Status)
			for _, s := range one.Spans {
				row += fmt.Sprintf(" %s %.0f-%.0f", s.State, s.From.Sub(begin).Minutes(), s.Until.Sub(begin).Minutes())
			}
			rows = append(rows, row)
		}
		if got := strings.Join(rows, " | "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.what, got, c.want)
		}
	}
}
