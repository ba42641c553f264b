package dashboard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// live commits an agent that lived from a time until another one (zero: it lives), with these states, each for a minute.
func (h *house) live(before *daemon.Agent, from, until time.Time, change func(*daemon.Agent), states ...daemon.AgentState) *daemon.Agent {
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
	page, err := h.Persona(t.Context(), slug, daemon.TimelineDay)
	n, text := drawn(t, page, err)
	wantText(t, n, "timeline", fmt.Sprintf("con · agents %d to %d", first.ID, second.ID), fmt.Sprintf("con · agent %d", beside.ID),
		"gen 1", "gen 2", "working", "waiting 1 min", "limited 1 min", "1 handoff", "warn at 60 % and high at 70 %", "75 %")
	for _, want := range []string{`points="0,75 100,25 500,25"`, `aria-label="Timeline: 3 agents, 2 turns, working for `, `d="M3.33 0h1.67v1H3.33zM6.67 0h1.67v1H6.67z`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	page, err = h.Agent(t.Context(), beside.ID, daemon.TimelineWeek)
	n, _ = drawn(t, page, err)
	if got := textIn(find(n, "timeline")); strings.Contains(got, fmt.Sprintf("agent %d", first.ID)) || strings.Contains(got, "context window") {
		t.Errorf("the timeline of another line: %s", got)
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
	for i := range 200 {
		h.live(nil, h.now.Add(-time.Hour), time.Time{}, func(a *daemon.Agent) { a.Persona, a.Name = nil, fmt.Sprint("house ", i) }, daemon.Working, daemon.Waiting, daemon.Working)
	}
	for name, draw := range map[string]func() (*Page, error){
		"persona": func() (*Page, error) { return h.Persona(t.Context(), slug, daemon.TimelineMonth) },
		"line":    func() (*Page, error) { return h.Agent(t.Context(), before.ID, daemon.TimelineDay) },
		"house":   func() (*Page, error) { return h.House(t.Context(), "") },
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
	page, err := h.Persona(t.Context(), slug, daemon.TimelineMonth)
	n, _ := drawn(t, page, err)
	wantText(t, n, "timeline", "Older agents of this time are left out", "160 agents before these are left out")
}
