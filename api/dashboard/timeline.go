package dashboard

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// spanNames are the spans of time that a page offers, with their names in its address.
var spanNames = []struct {
	Name string
	Span time.Duration
}{{"day", daemon.TimelineDay}, {"week", daemon.TimelineWeek}, {"month", daemon.TimelineMonth}}

// timeline is the picture of what happened to agents.
type timeline struct {
	*daemon.Timeline
	Page    string // the page's address, for other spans of time
	Span    string // the name of the span that is shown
	Keys    []key
	Tracks  []track
	Hidden  int // agents for which there is no room in the picture
	Table   []daemon.Life
	Earlier int // agents that are not in the table
	Ticks   []tick
	Height  int
	Plot    int // the height of the curve; 0: no use of a context window is known
	Says    string
	Whole   bool // the states of the whole span are known
}

// track is a row of the picture. The agents of a line follow each other in it.
type track struct {
	Y      int
	Name   string
	Lives  []lifeStripe
	Work   string // as a path
	Wait   string
	Limit  string
	Curves []string // points of lines
	Marks  []mark
	ends   time.Time
	last   int64 // the agent at its end
	spans  []daemon.Span
}

// lifeStripe is an agent in a track.
type lifeStripe struct {
	stripe
	ID     int64
	Number string // its generation; "": it would cover the number before
}

// mark is a handoff in a track.
type mark struct {
	X, Title string
	Status   daemon.Status
}

// The heights of the parts of a track.
const (
	trackName   = 18
	trackPlot   = 44
	trackBar    = 14
	trackNext   = 22 // the numbers of the generations, and the gap
	mostTracks  = 8
	mostInTable = 40
)

// Bottom is where the tracks end.
func (t *timeline) Bottom() int { return t.Height - 20 }

// Bar is where the bar of a track begins.
func (t *timeline) Bar(tr track) int { return tr.Y + trackName + t.Plot }

// Level is where a percentage stands in the plot of a track.
func (t *timeline) Level(tr track, percent int) int {
	return tr.Y + trackName + t.Plot - 4 - percent*(t.Plot-8)/100
}

// Names are the spans of time that the page offers.
func (t *timeline) Names() any { return spanNames }

// pictureOf draws a timeline; nil: there is nothing to see.
func pictureOf(in *daemon.Timeline, page string, span time.Duration) *timeline {
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
	rows := map[int64]int{}
	for i := range in.Lives {
		if row := out.place(&in.Lives[i]); row >= 0 {
			rows[in.Lives[i].ID] = row
			out.Tracks[row].add(a, &in.Lives[i])
		} else {
			out.Hidden++
		}
	}
	for _, h := range in.Handoffs {
		if row, ok := rows[h.AgentID]; ok {
			out.Tracks[row].Marks = append(out.Tracks[row].Marks, mark{percent(a.share(h.CreatedAt)), fmt.Sprintf("handoff %d, %s", h.ID, words.Of(h.Status)), h.Status})
		}
	}
	high := trackName + out.Plot + trackBar + trackNext
	for i := range out.Tracks {
		tr := &out.Tracks[i]
		tr.Y = i * high
		tr.Work, tr.Wait = pathOf(a.stripes(tr.spans, daemon.Working, 0)), pathOf(a.stripes(tr.spans, daemon.Waiting, 2.0/stretched))
		tr.Limit = pathOf(a.stripes(tr.spans, daemon.Limited, 2.0/stretched))
	}
	out.Height = len(out.Tracks)*high + 20
	out.Earlier = max(len(in.Lives)-mostInTable, 0)
	out.Table = in.Lives[out.Earlier:]
	out.describe()
	return out
}

// place returns the row for an agent: that of its predecessor, or the first one that is free, or a new one; -1: there is no room.
func (t *timeline) place(l *daemon.Life) int {
	free := -1
	for i := range t.Tracks {
		tr := &t.Tracks[i]
		if tr.ends.After(l.CreatedAt) {
			continue
		}
		if l.PreviousAgentID != nil && *l.PreviousAgentID == tr.last {
			return i
		}
		if free < 0 {
			free = i
		}
	}
	if free < 0 && len(t.Tracks) < mostTracks {
		t.Tracks, free = append(t.Tracks, track{}), len(t.Tracks)
	}
	return free
}

// add draws an agent into the track.
func (tr *track) add(a axis, l *daemon.Life) {
	tr.ends, tr.last = a.until, l.ID
	if l.EndedAt != nil {
		tr.ends = *l.EndedAt
	}
	one := lifeStripe{stripe: stripe{a.share(l.CreatedAt), a.share(tr.ends)}, ID: l.ID}
	const room = 0.11 // for a number, on a narrow screen
	before := -room
	for _, d := range tr.Lives {
		if d.Number != "" {
			before = d.from
		}
	}
	if one.from-before >= room && one.from < 1-room/2 {
		one.Number = fmt.Sprint("gen ", l.Generation)
	}
	tr.Lives = append(tr.Lives, one)
	tr.Name = fmt.Sprintf("%s · agent %d", words.Clip(words.Page(l.Name), 30), l.ID)
	if first := tr.Lives[0].ID; first != l.ID {
		tr.Name = fmt.Sprintf("%s · agents %d to %d", words.Clip(words.Page(l.Name), 30), first, l.ID)
	}
	tr.spans = append(tr.spans, l.Spans...)
	if points := a.curve(l.Context); points != nil {
		last := points[len(points)-1]
		last.x = math.Round(stretched * one.until) // it stays so until its end
		tr.Curves = append(tr.Curves, polyline(append(points, last)))
	}
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
func (t *timeline) FullestOf(l daemon.Life) string {
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

// personaTimeline draws the timeline of a persona.
func (p *Pages) personaTimeline(ctx context.Context, slug string, span time.Duration) (*timeline, error) {
	in, err := p.Daemon.PersonaTimeline(ctx, slug, span)
	if err != nil {
		return nil, err
	}
	return pictureOf(in, "/ui/personas/"+slug, span), nil
}

// lineTimeline draws the timeline of an agent's line.
func (p *Pages) lineTimeline(ctx context.Context, a *daemon.Agent, line []daemon.Generation, span time.Duration) (*timeline, error) {
	in, err := p.Daemon.LineTimeline(ctx, a, line, span)
	if err != nil {
		return nil, err
	}
	return pictureOf(in, fmt.Sprintf("/ui/agents/%d", a.ID), span), nil
}
