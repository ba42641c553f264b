package api

import (
	"context"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/usage"
	"github.com/understudyd/understudy/daemon/views"
)

// changeRequest is a change of an agent. Exactly one field is given.
type changeRequest struct {
	Persona        string  `json:"persona,omitempty"`
	Name           *string `json:"name,omitempty"`
	NotifyFinished *string `json:"notify_finished,omitempty"`
}

type seenRequest struct {
	FinishedAt string `json:"finished_at"` // that of the agent as the operator saw it, in RFC 3339
}

type stopRequest struct {
	Force bool `json:"force"`
}

type resumeAgentsRequest struct {
	IDs *[]int64 `json:"ids,omitempty"` // of ended agents; left out: all that died and whose work nobody continues
}

// agentHandlers answer about agents.
type agentHandlers struct{ *house.House }

// active is the value of the parameter state that selects all agents that have not ended.
const active = "active"

func agentFilter(p *params) daemon.AgentFilter {
	f := daemon.AgentFilter{Persona: p.text("persona"), Before: p.id("before"), Limit: p.limit()}
	state := p.oneOf("state", active, string(daemon.Starting), string(daemon.Idle), string(daemon.Working), string(daemon.Waiting), string(daemon.Limited), string(daemon.Ended))
	if f.Active = state == active; !f.Active {
		f.State = daemon.AgentState(state)
	}
	return f
}

func (h agentHandlers) change(ctx context.Context, id int64, in changeRequest) (daemon.Agent, error) {
	given := 0
	for _, is := range []bool{in.Persona != "", in.Name != nil, in.NotifyFinished != nil} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return daemon.Agent{}, invalid(codeInvalidField, "One field is needed, and no more: \"persona\", \"name\" or \"notify_finished\"")
	case in.Name != nil:
		return h.Marks.RenameAgent(ctx, id, *in.Name)
	case in.NotifyFinished != nil:
		return h.Marks.NotifyWhenFinished(ctx, id, *in.NotifyFinished)
	}
	return h.Daemon.AssignPersona(ctx, id, in.Persona)
}

func (h agentHandlers) see(ctx context.Context, id int64, in seenRequest) (daemon.Agent, error) {
	until, err := time.Parse(time.RFC3339Nano, in.FinishedAt)
	if err != nil {
		return daemon.Agent{}, invalid(codeInvalidField, "Field \"finished_at\" must be the finished_at of the agent that was seen")
	}
	return h.Marks.SeeAgent(ctx, id, until)
}

func (h agentHandlers) resumeSeveral(ctx context.Context, in resumeAgentsRequest) ([]views.Resumption, error) {
	var ids []int64
	if in.IDs != nil {
		if ids = *in.IDs; len(ids) == 0 {
			return nil, invalid(codeInvalidField, "Field \"ids\" must name agents: leave it out for all that died")
		}
	}
	return h.Daemon.ResumeAgents(ctx, ids)
}

func (h agentHandlers) stop(ctx context.Context, id int64, in stopRequest) (daemon.Agent, error) {
	return h.Daemon.StopAgent(ctx, id, in.Force)
}

// reportContext answers with {}, even if the domain ignores the report because it is about another session.
func (h agentHandlers) reportContext(ctx context.Context, id int64, in usage.ContextReport) (struct{}, error) {
	return struct{}{}, h.Usage.ReportContext(ctx, id, in)
}
