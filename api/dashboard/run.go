package dashboard

import (
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pictures"
	"github.com/understudyd/understudy/daemon/words"
)

// course is the picture of a pipeline's run in time.
type course struct {
	*pictures.PipelineTimeline
	Rows   []courseRow
	Ticks  []tick
	Height int
	Keys   []key
	Says   string
}

// courseRow is a step in the picture.
type courseRow struct {
	pictures.PipelineRow
	Y     int
	Parts []coursePart
	Gates []courseGate
}

type coursePart struct {
	stripe
	State pictures.PipelineSpanState
	Broke bool // the step failed in it
	Title string
}

type courseGate struct{ X, Title string }

// courseWords say what a step does in a part.
var courseWords = map[pictures.PipelineSpanState]string{
	pictures.SpanQueued: "queued", pictures.SpanApproval: "waits for approval", pictures.SpanWorking: "works", pictures.SpanWaiting: "its agent waits for a person",
}

const courseHigh = 44 // pixels of a row

// RowHeight is the height of a row; see [timeline.RowHeight].
func (c *course) RowHeight() int { return courseHigh }

// Bottom is where the rows end.
func (c *course) Bottom() int { return c.Height - 20 }

// courseOf draws a pipeline's run.
func courseOf(in *pictures.PipelineTimeline) *course {
	out := &course{PipelineTimeline: in, Height: courseHigh*len(in.Rows) + 20}
	if !in.From.Before(in.Until) {
		return out
	}
	a := axis{in.From, in.Until}
	out.Ticks = a.ticks()
	sums := map[pictures.PipelineSpanState]time.Duration{}
	for i, r := range in.Rows {
		row := courseRow{PipelineRow: r, Y: i * courseHigh}
		for _, s := range r.Spans {
			took := s.Until.Sub(s.From)
			sums[s.State] += took
			title := fmt.Sprintf("step %d: %s, %s", r.Number, courseWords[s.State], words.Took(took))
			if r.Rounds > 1 {
				title += fmt.Sprintf(", round %d", s.Round)
			}
			part := stripe{a.share(s.From), a.share(s.Until)}
			part.until = max(part.until, min(part.from+2.0/stretched, 1))
			broke := r.Status == daemon.StepFailed && s.State == pictures.SpanWorking && s.Round == r.Rounds
			if broke {
				title += ", failed"
			}
			row.Parts = append(row.Parts, coursePart{part, s.State, broke, title})
		}
		for _, g := range in.Gates {
			if g.Number == r.Number && g.At != nil {
				row.Gates = append(row.Gates, courseGate{percent(a.share(*g.At)), fmt.Sprintf("step %d: approved", g.Number)})
			}
		}
		out.Rows = append(out.Rows, row)
	}
	for _, state := range []pictures.PipelineSpanState{pictures.SpanWorking, pictures.SpanWaiting, pictures.SpanApproval, pictures.SpanQueued} {
		if sums[state] > 0 {
			out.Keys = append(out.Keys, key{string(state), courseWords[state] + " " + words.Took(sums[state])})
		}
	}
	out.Says = fmt.Sprintf("The run in time: %s in %s.", words.Count(len(in.Rows), "step"), words.Took(in.Until.Sub(in.From)))
	return out
}

// Took says how long a step was in a state, in all its rounds.
func (c *course) Took(r courseRow, state pictures.PipelineSpanState) string {
	var sum time.Duration
	for _, s := range r.Spans {
		if s.State == state {
			sum += s.Until.Sub(s.From)
		}
	}
	if sum == 0 {
		return ""
	}
	return words.Took(sum)
}
