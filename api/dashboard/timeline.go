package dashboard

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pictures"
	"github.com/understudyd/understudy/daemon/words"
)

// spanNames are the spans of time that a page offers, with their names in its address.
var spanNames = []struct {
	Name string
	Span time.Duration
}{{"day", pictures.Day}, {"week", pictures.Week}, {"month", pictures.Month}}

// timeline is the picture of what happened to the agents of a line.
type timeline struct {
	*pictures.Timeline
	Page   string // the page's address, for other spans of time
	Span   string // the name of the span that is shown
	Keys   []key
	Tracks []track
	Hidden int // agents for which there is no room in the picture
	Ticks  []tick
	Height int
	Plot   int // the height of the curve; 0: no use of a context window is known
	Says   string
	Whole  bool // the states of the whole span are known
}

// track is a row of the picture. The agents of a part of the line follow each other in it.
type track struct {
	Y      int
	Name   string // of the newest agent
	Also   string // what else the row is about
	Lives  []lifeStripe
	Work   string // as a path
	Wait   string
	Limit  string
	Curves []string // points of lines
	Marks  []mark
	part   *part
}

// lifeStripe is an agent in a track.
type lifeStripe struct {
	stripe
	ID     int64
	Number string // its generation; "": it would cover the number before
	Left   bool   // the number stands left of its beginning, for there is no room to the right
	Title  string // "": nobody could point at it
}

// mark is a handoff in a track.
type mark struct {
	X, Title string
	Status   daemon.Status
}

// The heights of the parts of a track.
const (
	trackName  = 18
	trackPlot  = 44
	trackBar   = 14
	trackNext  = 22 // the numbers of the generations, and the gap
	mostTracks = 8
)

// Bottom is where the tracks end.
func (t *timeline) Bottom() int { return t.Height - 20 }

// RowHeight is the height of a track. The style sheet has a class for each: the names of the tracks lie over the picture.
func (t *timeline) RowHeight() int { return trackName + t.Plot + trackBar + trackNext }

// Bar is where the bar of a track begins.
func (t *timeline) Bar(tr track) int { return tr.Y + trackName + t.Plot }

// Level is where a percentage stands in the plot of a track.
func (t *timeline) Level(tr track, percent int) int {
	return tr.Y + trackName + t.Plot - 4 - percent*(t.Plot-8)/100
}

// Names are the spans of time that the page offers.
func (t *timeline) Names() any { return spanNames }

// pictureOf draws a timeline; nil: there is nothing to see.
func pictureOf(in *pictures.Timeline, page string, span time.Duration) *timeline {
	if len(in.Lives) == 0 || !in.From.Before(in.Until) {
		return nil
	}
	out := &timeline{Timeline: in, Page: page, Whole: true}
	for _, s := range spanNames {
		if s.Span == span {
			out.Span = s.Name
		}
	}
	a := axis{in.From, in.Until}
	out.Ticks = a.ticks()
	for i := range in.Lives {
		out.Whole = out.Whole && in.Lives[i].Whole
		if len(in.Lives[i].Context) > 0 {
			out.Plot = trackPlot
		}
	}
	rows := out.place()
	for _, h := range in.Handoffs {
		if row, ok := rows[h.AgentID]; ok {
			out.Tracks[row].Marks = append(out.Tracks[row].Marks, mark{percent(a.share(h.CreatedAt)), fmt.Sprintf("handoff %d, %s", h.ID, words.Of(h.Status)), h.Status})
		}
	}
	for i := range out.Tracks {
		out.Tracks[i].Y = i * out.RowHeight()
		out.Tracks[i].draw(a)
	}
	out.Height = len(out.Tracks)*out.RowHeight() + 20
	out.describe()
	return out
}

// draw draws the agents of a track.
func (tr *track) draw(a axis) {
	const room = 0.11 // for a number, on a narrow screen
	end := 0.0        // of the number before
	var all []pictures.Span
	for _, l := range slices.Backward(tr.part.lives) {
		one := lifeStripe{stripe: stripe{a.share(l.CreatedAt), 1}, ID: l.ID}
		if l.EndedAt != nil {
			one.until = a.share(*l.EndedAt)
		}
		if one.until-one.from >= 0.01 {
			one.Title = fmt.Sprintf("agent %d, generation %d", l.ID, l.Generation)
		}
		switch {
		case one.from >= end && one.from+room <= 1:
			one.Number, end = fmt.Sprint("gen ", l.Generation), one.from+room
		case one.from-room >= end:
			one.Number, one.Left, end = fmt.Sprint("gen ", l.Generation), true, one.from
		}
		tr.Lives, all = append(tr.Lives, one), append(all, l.Spans...)
		if points := a.curve(l.Context); points != nil {
			last := points[len(points)-1]
			last.x = math.Round(stretched * one.until) // it stays so until its end
			tr.Curves = append(tr.Curves, polyline(append(points, last)))
		}
	}
	tr.Work, tr.Wait = pathOf(a.stripes(all, daemon.Working, 0)), pathOf(a.stripes(all, daemon.Waiting, 2.0/stretched))
	tr.Limit = pathOf(a.stripes(all, daemon.Limited, 2.0/stretched))
	tr.Name, tr.Also = tr.part.name()
}

// describe writes the legend, and what a person who cannot see the picture is told.
func (t *timeline) describe() {
	all, turns := t.Spent()
	says := []string{words.Count(len(t.Lives), "agent"), words.Count(turns, "turn")}
	for _, state := range []daemon.AgentState{daemon.Working, daemon.Waiting, daemon.Limited, daemon.Idle} {
		if s := all.In(state); s > 0 {
			t.Keys = append(t.Keys, key{string(state), string(state) + " " + secs(s)})
			says = append(says, string(state)+" for "+secs(s))
		}
	}
	if len(t.Handoffs) > 0 {
		t.Keys = append(t.Keys, key{"handoff", words.Count(len(t.Handoffs), "handoff")})
		says = append(says, words.Count(len(t.Handoffs), "handoff"))
	}
	t.Says = "Timeline: " + strings.Join(says, ", ") + "."
}

// FullestOf says how full an agent's window was at most; "": not known.
func (t *timeline) FullestOf(l pictures.Life) string {
	most := -1.0
	for i := range l.Context {
		if p := l.Context[i].Percent; p != nil {
			most = max(most, *p)
		}
	}
	if most < 0 {
		return ""
	}
	return words.Percent(most)
}
