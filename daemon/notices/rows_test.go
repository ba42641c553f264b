package notices

import (
	"context"
	"errors"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// waitingRows is a database with the agent and the pipeline of a notice.
type waitingRows struct {
	Store
	agent    daemon.Agent
	pipeline daemon.Pipeline
	err      error
}

func (r waitingRows) Agent(context.Context, int64) (daemon.Agent, error) { return r.agent, r.err }
func (r waitingRows) Pipeline(context.Context, int64) (daemon.Pipeline, error) {
	return r.pipeline, r.err
}

func TestNoticeIsOverWhenItsAgentOrPipelineNoLongerWaits(t *testing.T) {
	t.Parallel()
	id, lost := int64(1), errors.New("lost")
	agent := &event.Event{Type: event.AgentWaiting, AgentID: &id}
	trouble := &event.Event{Type: event.AgentTrouble, AgentID: &id}
	pipeline := &event.Event{Type: event.PipelineWaitingForApproval, AgentID: &id, PipelineID: &id}
	for name, tt := range map[string]struct {
		event *event.Event
		rows  waitingRows
		over  bool
		err   error
	}{
		"an agent that waits":          {event: agent, rows: waitingRows{agent: daemon.Agent{State: daemon.Waiting}}},
		"an agent that was answered":   {event: agent, rows: waitingRows{agent: daemon.Agent{State: daemon.Working}}, over: true},
		"an agent in trouble":          {event: trouble, rows: waitingRows{agent: daemon.Agent{State: daemon.Idle, AgentTurn: daemon.AgentTurn{Trouble: &daemon.Trouble{}}}}},
		"an agent out of trouble":      {event: trouble, rows: waitingRows{agent: daemon.Agent{State: daemon.Waiting}}, over: true},
		"a pipeline that waits":        {event: pipeline, rows: waitingRows{pipeline: daemon.Pipeline{Status: daemon.PipelineWaiting}, agent: daemon.Agent{State: daemon.Working}}},
		"a pipeline that was approved": {event: pipeline, rows: waitingRows{pipeline: daemon.Pipeline{Status: daemon.PipelineRunning}, agent: daemon.Agent{State: daemon.Waiting}}, over: true},
		"an agent that was deleted":    {event: agent, rows: waitingRows{err: daemon.ErrNotFound}, over: true},
		"a database that is away":      {event: agent, rows: waitingRows{err: lost}, err: lost},
		"a notice about nobody at all": {event: &event.Event{Type: event.TemplateBroken}},
	} {
		if over, err := (rowsToTell{tt.rows}).Over(t.Context(), tt.event); over != tt.over || !errors.Is(err, tt.err) {
			t.Errorf("%s: over %t, %v", name, over, err)
		}
	}
}
