package stories

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// TestTimelineOfALine: the API tells what the agents of a line did and when, with a sample of the context window for each
// noticeable change, and how long the handoff took beside others.
func TestTimelineOfALine(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		began := a.CreatedAt
		for _, tokens := range []int64{100_000, 101_000, 119_000, 121_000, 300_000, 50_000} {
			r.fillContext(a.ID, tokens)
		}
		h, _, next := r.handOver(a.ID)
		r.awaitState(next.ID, daemon.Idle)
		out, err := r.client.AgentTimeline(t.Context(), next.ID, "day")
		if err != nil || len(out.Lives) != 2 || len(out.Handoffs) != 1 || out.Handoffs[0].ID != h.ID || out.From.Before(began.Add(-time.Second)) {
			t.Fatalf("%+v (%v)", out, err)
		}
		first := out.Lives[0]
		var percents []float64
		for _, s := range first.Context {
			percents = append(percents, *s.Percent)
		}
		if want := []float64{10, 12.1, 30, 5}; !slices.Equal(percents[:min(len(percents), len(want))], want) {
			t.Errorf("samples %v, want them to begin with %v", percents, want)
		}
		if !first.Whole || first.Turns < 6 || first.Working <= 0 || first.EndedAt == nil || first.Spans[0].State != daemon.Starting {
			t.Errorf("the first generation: %+v", first)
		}
		for i := 1; i < len(first.Spans); i++ {
			if was, is := first.Spans[i-1], first.Spans[i]; !was.Until.Equal(is.From) || was.State == is.State {
				t.Errorf("after %+v comes %+v", was, is)
			}
		}
		took, err := r.client.Durations(t.Context(), h.ID)
		if err != nil || took.Of != 0 || took.MedianMS != nil || len(took.Phases) < 8 {
			t.Errorf("%+v (%v)", took, err)
		}
		again, _, _ := r.handOver(next.ID)
		for want, command := range map[string][]string{
			`beside the median of 1 other completed handoff`: {"handoff", "show", fmt.Sprint(again.ID)},
			`instructing +█* +\d.* s +\d.*×`:                 {"handoff", "show", fmt.Sprint(again.ID)},
			`over time +[▁▂▃▄▅▆▇█]{24} in `:                  {"agent", "show", fmt.Sprint(a.ID)},
		} {
			r.sit(false, command...).awaitPrinted(want, 1)
		}
	})
}
