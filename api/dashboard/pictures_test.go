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
	"github.com/understudyd/understudy/daemon/words"
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
	page, err := h.Persona(t.Context(), slug, pictures.Day)
	n, text := drawn(t, page, err)
	wantText(t, n, "timeline", fmt.Sprintf("con · agents %d → %d", first.ID, second.ID), fmt.Sprintf("con · agent %d", beside.ID),
		"gen 1", "gen 2", "working", "waiting 1 min", "limited 1 min", "1 handoff", "warn at 60 % and high at 70 %", "75 %")
	for _, want := range []string{`points="0,75 100,25 500,25"`, `aria-label="Timeline: 3 agents, 2 turns, working for `, `d="M3.33 0h1.67v1H3.33zM6.67 0h1.67v1H6.67z`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	page, err = h.Agent(t.Context(), beside.ID, pictures.Week)
	n, _ = drawn(t, page, err)
	if got := textIn(find(n, "timeline")); strings.Contains(got, fmt.Sprintf("agent %d", first.ID)) || strings.Contains(got, "context window") {
		t.Errorf("the timeline of another line: %s", got)
	}
}

// rowsOf returns the names of the rows of a persona's timeline.
func (h *pages) rowsOf() (out []string) {
	h.t.Helper()
	page, err := h.Persona(h.t.Context(), slug, pictures.Day)
	check(h.t, err)
	for _, tr := range page.Data.(*persona).Timeline.Tracks {
		out = append(out, tr.Name+" "+tr.Also)
	}
	return out
}

// TestTimelineKeepsLinesTogether: agents that died together and were resumed in another order stay in the rows of their lines. A
// line of which two agents lived at the same time has a row for each, one below the other.
func TestTimelineKeepsLinesTogether(t *testing.T) {
	t.Parallel()
	h := build(t)
	begin, died := h.now.Add(-5*time.Hour), h.now.Add(-time.Hour)
	named := func(name string) func(*daemon.Agent) { return func(a *daemon.Agent) { a.Name = name } }
	first := h.live(nil, begin, begin.Add(time.Hour), named("a"))
	a := h.live(first, begin.Add(time.Hour), died, named("a"))
	b, c, d := h.live(nil, begin, died, named("b")), h.live(nil, begin, died, named("c")), h.live(nil, begin, died, named("d"))
	d2, b2 := h.live(d, died.Add(time.Minute), time.Time{}, named("d")), h.live(b, died.Add(time.Minute), time.Time{}, named("b"))
	a2 := h.live(a, died.Add(2*time.Minute), time.Time{}, named("a"))
	kept := h.live(nil, begin, time.Time{}, named("kept"))
	heir := h.live(kept, died, time.Time{}, named("heir"))
	want := []string{
		fmt.Sprintf("heir · agent %d", heir.ID), fmt.Sprintf("kept · agent %d", kept.ID),
		fmt.Sprintf("a · agents %d → … → %d", first.ID, a2.ID), fmt.Sprintf("b · agents %d → %d", b.ID, b2.ID),
		fmt.Sprintf("d · agents %d → %d", d.ID, d2.ID), fmt.Sprintf("c · agent %d", c.ID),
	}
	if got := h.rowsOf(); !slices.Equal(got, want) {
		t.Errorf("rows\n got %q\nwant %q", got, want)
	}
}

// TestTimelineSharesRows: with more lines than rows, lines that lived one after the other share a row, which says so, and each line
// stays in one row.
func TestTimelineSharesRows(t *testing.T) {
	t.Parallel()
	h := build(t)
	for i := range 10 { // two lines at a time, of two agents each
		begin := h.now.Add(time.Duration(i-11) * time.Hour)
		one, other := h.live(nil, begin, begin.Add(20*time.Minute), nil), h.live(nil, begin, begin.Add(20*time.Minute), nil)
		h.live(other, begin.Add(21*time.Minute), begin.Add(50*time.Minute), nil)
		h.live(one, begin.Add(21*time.Minute), begin.Add(50*time.Minute), nil)
	}
	page, err := h.Persona(t.Context(), slug, pictures.Day)
	check(t, err)
	in, seen, shared := page.Data.(*persona).Timeline, 0, 0
	for _, tr := range in.Tracks {
		for i, l := range tr.lives() {
			if seen++; l.PreviousAgentID != nil && *l.PreviousAgentID != tr.lives()[i+1].ID {
				t.Errorf("in row %q agent %d does not follow its predecessor %d", tr.Name, l.ID, *l.PreviousAgentID)
			}
		}
		if len(tr.parts) == 1 {
			continue
		}
		shared++
		newest := tr.parts[0]
		want := fmt.Sprintf("· agents %d → %d · %s before it", newest.oldest().ID, newest.newest().ID, words.Count(len(tr.parts)-1, "line"))
		if tr.Also != want {
			t.Errorf("a row says %q, want %q", tr.Also, want)
		}
		for _, l := range tr.Lives {
			if l.Number != "" && (l.Number != fmt.Sprint("agent ", l.ID) || l.Left != (l.from > 0.8)) {
				t.Errorf("agent %d is called %q in a row of several lines, left of its beginning: %v", l.ID, l.Number, l.Left)
			}
		}
	}
	if seen != 40 || in.Hidden != 0 || len(in.Tracks) != mostTracks || shared == 0 {
		t.Errorf("%d agents in %d rows, of which %d are shared; %d hidden", seen, len(in.Tracks), shared, in.Hidden)
	}
}

// TestRowsHaveTheirNames: the style sheet has the heights of the rows, over which their names lie.
func TestRowsHaveTheirNames(t *testing.T) {
	t.Parallel()
	style := string(Files()["style.css"].Body)
	for _, high := range []int{(&timeline{Plot: trackPlot}).RowHeight(), (&timeline{}).RowHeight(), (&course{}).RowHeight()} {
		if want := fmt.Sprintf(".high-%d > li { height: %[1]dpx; }", high); !strings.Contains(style, want) {
			t.Errorf("style.css lacks %s", want)
		}
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
	for name, draw := range map[string]func() (*Page, error){
		"persona": func() (*Page, error) { return h.Persona(t.Context(), slug, pictures.Month) },
		"line":    func() (*Page, error) { return h.Agent(t.Context(), before.ID, pictures.Day) },
	} {
		began := time.Now()
		page, err := draw()
		took := time.Since(began)
		n, text := drawn(t, page, err)
		size := len(text)
		if at := strings.Index(text, `<figure class="panel picture"`); at >= 0 {
			size = strings.Index(text[at:], "</figure>")
		}
		t.Logf("%s: %d bytes, of which the picture %d, in %s", name, len(text), size, took)
		if find(n, "main") == nil || size > 100_000 {
			t.Errorf("%s: the picture has %d bytes", name, size)
		}
	}
	page, err := h.Persona(t.Context(), slug, pictures.Month)
	n, _ := drawn(t, page, err)
	wantText(t, n, "timeline", "Older agents of this time are left out", "160 agents before these are left out")
}
