package api

import (
	"fmt"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/pictures"
	"github.com/understudyd/understudy/personas"
)

// happened commits the events of an agent's states, each so many minutes after a time.
func (h *fixture) happened(a *daemon.Agent, begin time.Time, states string, minutes ...int) {
	h.t.Helper()
	c := &daemon.Change{}
	for i, m := range minutes {
		c.Events = append(c.Events, &event.Event{Type: event.Type("agent_" + map[byte]string{
			'c': "created", 'i': "idle", 'w': "working", 'a': "waiting", 'l': "limited", 'e': "ended"}[states[i]]),
			Host: "elsewhere", AgentID: &a.ID, At: begin.Add(time.Duration(m) * time.Minute)})
	}
	h.commit(c)
}

// lived says what a life was spent with: minutes at work, waiting, limited and idle, and the turns.
func lived(t *pictures.StateTimes, turns int) string {
	return fmt.Sprintf("%.0f %.0f %.0f %.0f, %d", t.Working/60, t.Waiting/60, t.Limited/60, t.Idle/60, turns)
}

// TestTimelines: the lives of a line with their states, turns, samples and handoffs; what is not in the log is not guessed.
func TestTimelines(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	ctx := t.Context()
	p := value(h.client.CreatePersona(ctx, personas.New{Role: "reviewer", Name: "ann"}))(t)
	begin := time.Now().UTC().Add(-5 * time.Hour).Truncate(time.Second)
	end := begin.Add(100 * time.Minute)
	first := h.agent(func(a *daemon.Agent) {
		away(a)
		a.Persona, a.State, a.CreatedAt, a.StateAt, a.EndedAt = &p.Slug, daemon.Ended, begin, end, &end
	})
	second := h.agent(func(a *daemon.Agent) {
		away(a)
		a.Persona, a.PreviousAgentID, a.Generation, a.CreatedAt, a.StateAt = &p.Slug, &first.ID, 2, end, end.Add(50*time.Minute)
	})
	h.happened(first, begin, "ciwawliwe", 0, 1, 10, 20, 35, 40, 60, 70, 100)
	half := 50.0
	h.commit(&daemon.Change{Samples: []daemon.ContextSample{{AgentID: first.ID, At: begin.Add(10 * time.Minute), Tokens: 100_000, Percent: &half}}})
	for _, span := range []string{"day", "week"} {
		out := value(h.client.AgentTimeline(ctx, second.ID, span))(t)
		if len(out.Lives) != 2 || !out.From.Equal(begin) || out.Warn == 0 {
			t.Fatalf("%+v", out)
		}
		one, two := out.Lives[0], out.Lives[1]
		if got := lived(&one.StateTimes, one.Turns); got != "45 15 20 19, 2" || !one.Whole || len(one.Context) != 1 || *one.Context[0].Percent != half {
			t.Errorf("%s of the first: %s, %+v", span, got, one)
		}
		// The log has nothing of the second: only its row says that it is idle, and since when.
		if got := lived(&two.StateTimes, two.Turns); got != "0 0 0 150, 0" || two.Whole || !two.Spans[0].From.Equal(end.Add(50*time.Minute)) {
			t.Errorf("%s of the second: %s, %+v", span, got, two)
		}
	}
	gone := h.agent(func(a *daemon.Agent) {
		away(a)
		a.State, a.CreatedAt, a.StateAt, a.EndedAt = daemon.Ended, begin.AddDate(0, 0, -9), end.AddDate(0, 0, -9), new(end.AddDate(0, 0, -9))
	})
	if out := value(h.client.AgentTimeline(ctx, gone.ID, "day"))(t); len(out.Lives) != 1 || !out.From.Equal(gone.CreatedAt) || !out.Until.Equal(*gone.EndedAt) {
		t.Errorf("of an agent that ended nine days ago: %+v", out)
	}
	h.mainDoor().do("GET", fmt.Sprintf("/api/agents/%d/timeline?span=year", first.ID), "").wants(t, "of a year", 400, "invalid_parameter")
	h.mainDoor().do("GET", "/api/agents/4711/timeline", "").wants(t, "of an unknown agent", 404, "agent_not_found")
	h.mainDoor().ok("GET", fmt.Sprintf("/ui/agents/%d?span=week", second.ID), "")
	h.mainDoor().do("GET", "/ui/agents/4711?span=year", "").wants(t, "its page of a year", 400, "invalid_parameter")
}

// TestDurations: a handoff's phases beside the medians of the last fifty others.
func TestDurations(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	handoff := func(phase daemon.Phase, ms int64) int64 {
		t.Helper()
		a := h.agent(away)
		o := h.handoff(a, daemon.Requested, nil)
		now := time.Now()
		o.Phase, o.Metrics = phase, daemon.Metrics{TotalMS: 10 * ms, Phases: map[daemon.Phase]int64{daemon.Instructing: ms}}
		if phase == daemon.Completed {
			o.RecordedAt, o.CompletedAt = &now, &now
		}
		h.commit(&daemon.Change{Move: &daemon.Move{Handoff: o, From: daemon.Requested}})
		return o.ID
	}
	alone := handoff(daemon.Completed, 7)
	out := value(h.client.Durations(t.Context(), alone))(t)
	if len(out.Phases) != 1 || out.Phases[0].MedianMS != nil || out.MedianMS != nil || out.TotalMS != 70 {
		t.Errorf("with nothing to compare: %+v", out)
	}
	handoff(daemon.Cancelled, 1_000_000)
	for i := range int64(pictures.MostCompared) {
		handoff(daemon.Completed, 100+i)
	}
	out = value(h.client.Durations(t.Context(), handoff(daemon.AwaitingDocument, 500)))(t)
	if one := out.Phases[0]; one.Phase != daemon.Instructing || one.MS != 500 || *one.MedianMS != 124 || one.Of != pictures.MostCompared || *out.MedianMS != 1245 {
		t.Errorf("%+v, median of all %d", one, *out.MedianMS)
	}
	if len(out.Phases) != 2 || out.Phases[1].Phase != daemon.AwaitingDocument || out.Phases[1].MedianMS != nil {
		t.Errorf("the phase that it is in: %+v", out.Phases)
	}
	h.mainDoor().do("GET", "/api/handoffs/4711/durations", "").wants(t, "of an unknown handoff", 404, "handoff_not_found")
}
