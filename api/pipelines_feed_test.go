package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

func TestFeedOfAPipeline(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	run, other := h.pipeline(nil), h.pipeline(nil)
	a := h.agent(away)
	begin := must(h.store.LastEventID(ctx))(t)
	log := func(typ event.Type, pipeline *daemon.Pipeline, agent *int64) int64 {
		t.Helper()
		e := &event.Event{Type: typ, Host: "here", AgentID: agent, Payload: json.RawMessage(`{}`)}
		if pipeline != nil {
			e.PipelineID, e.StepID = &pipeline.ID, &pipeline.Steps[0].ID
		}
		h.commit(&daemon.Change{Events: []*event.Event{e}})
		return e.ID
	}
	both := func() (of, typed, agents int64) { // appends two events of the pipeline, one of them of the type and one of the agent
		log("pipeline_created", other, nil)
		typed = log("pipeline_created", run, nil)
		log("agent_idle", nil, &a.ID)
		agents = log("step_done", run, &a.ID)
		log("step_done", other, &a.ID)
		return typed, typed, agents
	}
	_, typed, agents := both()
	queries := map[string]func(typed, agents int64) []int64{
		"":                        func(typed, agents int64) []int64 { return []int64{typed, agents} },
		"&types=pipeline_created": func(typed, _ int64) []int64 { return []int64{typed} },
		"&agent_id=" + id(a.ID):   func(_, agents int64) []int64 { return []int64{agents} },
	}
	streams := map[string]*stream{}
	for query, want := range queries {
		s := h.mainDoor().open(fmt.Sprintf("?after=%d&pipeline_id=%d", begin, run.ID) + query)
		streams[query] = s
		wanted := want(typed, agents)
		if got := eventIDs(s.events(len(wanted))); !slices.Equal(got, wanted) {
			t.Errorf("backlog with %q: %v, want %v", query, got, wanted)
		}
	}
	_, typed, agents = both()
	for query, want := range queries {
		wanted := want(typed, agents)
		if got := eventIDs(streams[query].events(len(wanted))); !slices.Equal(got, wanted) {
			t.Errorf("live with %q: %v, want %v", query, got, wanted)
		}
	}

	s := h.mainDoor().open(fmt.Sprintf("?after=%d&pipeline_id=%d&types=step_done,pipeline_failed", begin, other.ID))
	if got := eventIDs(s.events(2)); !slices.Equal(got, []int64{begin + 5, begin + 10}) {
		t.Errorf("of the other pipeline: %v, want %d and %d", got, begin+5, begin+10)
	}
}

func eventIDs(events []event.Event) (ids []int64) {
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	return ids
}
