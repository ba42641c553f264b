package dashboard

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/pictures"
)

// live commits an agent that lived from a time until another one (zero: it lives), with these states, each for a minute.
func (h *pages) live(before *daemon.Agent, from, until time.Time, change func(*daemon.Agent), states ...daemon.AgentState) *daemon.Agent {
	h.t.Helper()
	a := h.agent(func(a *daemon.Agent) {
		a.CreatedAt, a.StateAt = from, from
		if before != nil {
			a.PreviousAgentID, a.Generation = &before.ID, before.Generation+1
		}
		if !until.IsZero() {
			a.State, a.StateAt, a.EndedAt = daemon.Ended, until, &until
		}
		if change != nil {
			change(a)
		}
	})
	c := &daemon.Change{}
	for i, state := range append([]daemon.AgentState{"created"}, states...) {
		c.Events = append(c.Events, &event.Event{Type: event.Of("agent", state), Host: "here", AgentID: &a.ID, At: from.Add(time.Duration(i) * time.Minute)})
	}
	h.commit(c)
	return a
}

// TestTimelineIsDrawn: agents of a line follow each other in one row, with the curve of their context windows, and others have
// rows of their own; what is drawn can be read as well.
func TestTimelineIsDrawn(t *testing.T) {
	h := build(t)
	begin := h.now.Add(-10 * time.Hour)
	end := begin.Add(5 * time.Hour)
	first := h.live(nil, begin, end, nil, daemon.Idle, daemon.Working, daemon.Waiting, daemon.Working, daemon.Limited, daemon.Idle)
	h.handoff(first, func(o *daemon.Handoff) { o.CreatedAt = end.Add(-time.Minute) }, daemon.Instructing)
	second := h.live(first, end, time.Time{}, nil, daemon.Idle)
	beside := h.live(nil, end, time.Time{}, nil, daemon.Working)
	use, more := 25.0, 75.0
	h.commit(&daemon.Change{Samples: []daemon.ContextSample{{AgentID: first.ID, At: begin, Percent: &use}, {AgentID: first.ID, At: begin.Add(time.Hour), Percent: &more}}})
	n, text := drawn(t, value(h.Agent(t.Context(), second.ID, pictures.Day))(t))
	wantText(t, n, "timeline", fmt.Sprintf("con · agents %d → %d", first.ID, second.ID),
		"gen 1", "gen 2", "working", "waiting 1 min", "limited 1 min", "1 handoff", "warn at 60 % and high at 70 %", "75 %")
	holds(t, "the page", text, `points="0,75 100,25 500,25"`, `aria-label="Timeline: 2 agents, 1 turn, working for `, `d="M3.33 0h1.67v1H3.33zM6.67 0h1.67v1H6.67z`)
	n, _ = drawn(t, value(h.Agent(t.Context(), beside.ID, pictures.Week))(t))
	if got := textIn(find(n, "timeline")); strings.Contains(got, fmt.Sprintf("agent %d", first.ID)) || strings.Contains(got, "context window") {
		t.Errorf("the timeline of another line: %s", got)
	}
}

// TestTimelineOfALineThatBranches: agents that follow each other share a row, and one that lived at the same time as its heir has
// its own. There are only so many rows, for the newest.
func TestTimelineOfALineThatBranches(t *testing.T) {
	t.Parallel()
	h := build(t)
	begin := h.now.Add(-20 * time.Hour)
	named := func(name string) func(*daemon.Agent) { return func(a *daemon.Agent) { a.Name = name } }
	first := h.live(nil, begin, begin.Add(time.Hour), named("a"))
	second := h.live(first, begin.Add(time.Hour), begin.Add(2*time.Hour), named("a"))
	kept := h.live(second, begin.Add(2*time.Hour), time.Time{}, named("kept"))
	rows := func() (in *timeline, out []string) {
		t.Helper()
		page := value(h.Agent(t.Context(), kept.ID, pictures.Day))(t)
		in = page.Data.(*agent).Timeline
		for _, tr := range in.Tracks {
			out = append(out, tr.Name+" "+tr.Also)
		}
		return in, out
	}
	heir := h.live(kept, begin.Add(3*time.Hour), time.Time{}, named("heir"))
	want := []string{fmt.Sprintf("heir · agent %d", heir.ID), fmt.Sprintf("kept and others · agents %d → … → %d", first.ID, kept.ID)}
	if in, got := rows(); !slices.Equal(got, want) || in.Hidden != 0 {
		t.Errorf("rows\n got %q\nwant %q", got, want)
	}
	last := heir
	for i := range mostTracks {
		last = h.live(last, begin.Add(time.Duration(5+i)*time.Hour), time.Time{}, named("more"))
	}
	in, got := rows()
	if len(got) != mostTracks || in.Hidden != 4 || got[0] != fmt.Sprintf("more · agent %d", last.ID) {
		t.Errorf("%d agents are hidden, beside the rows %q", in.Hidden, got)
	}
}

// TestRowsHaveTheirNames: the style sheet has the heights of the rows, over which their names lie.
func TestRowsHaveTheirNames(t *testing.T) {
	t.Parallel()
	style := string(Files()["style.css"].Body)
	for _, high := range []int{(&timeline{Plot: trackPlot}).RowHeight(), (&timeline{}).RowHeight()} {
		holds(t, "style.css", style, fmt.Sprintf(".high-%d > li { height: %[1]dpx; }", high))
	}
}

// TestPicturesAreBounded: however much happened, a page stays small, and says what it leaves out.
func TestPicturesAreBounded(t *testing.T) {
	h := build(t)
	var before *daemon.Agent
	for i := range 1000 { // a generation each minute, which works and waits all the time
		from := h.now.Add(time.Duration(i-1000) * time.Minute)
		a := h.live(before, from, from.Add(time.Minute), func(a *daemon.Agent) { a.Name = strings.Repeat("long ", 100) })
		c := &daemon.Change{}
		for second := range 30 {
			state := []daemon.AgentState{daemon.Working, daemon.Waiting}[second%2]
			c.Events = append(c.Events, &event.Event{Type: event.Of("agent", state), Host: "here", AgentID: &a.ID, At: from.Add(time.Duration(2*second) * time.Second)})
			use := float64(3 * second)
			c.Samples = append(c.Samples, daemon.ContextSample{AgentID: a.ID, At: from.Add(time.Duration(2*second) * time.Second), Percent: &use})
		}
		h.commit(c)
		before = a
	}
	n, text := drawn(t, value(h.Agent(t.Context(), before.ID, pictures.Month))(t))
	_, picture, found := strings.Cut(text, `<figure class="panel picture"`)
	picture, _, _ = strings.Cut(picture, "</figure>")
	if find(n, "main") == nil || !found || len(picture) > 100_000 {
		t.Errorf("the picture has %d bytes", len(picture))
	}
}
