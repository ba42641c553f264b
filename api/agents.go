package api

import (
	"time"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/limits"
	"github.com/understudyd/understudy/daemon/usage"
	"github.com/understudyd/understudy/daemon/views"
)

type newAgentRequest struct {
	Persona string `json:"persona"`
	Cwd     string `json:"cwd"`
	Runtime string `json:"runtime"`
	Prompt  string `json:"prompt"`
	Name    string `json:"name"`
	Columns int    `json:"columns,omitempty"`
	Rows    int    `json:"rows,omitempty"`

	Model          string   `json:"model,omitempty"`
	PermissionMode string   `json:"permission_mode,omitempty"`
	Args           []string `json:"args,omitempty"`
	// Worktree asks for a work tree of its own.
	Worktree *worktreeRequest `json:"worktree,omitempty"`
}

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

type limitRequest struct {
	Do      daemon.LimitAction `json:"do"`
	Runtime string             `json:"runtime,omitempty"`
}

// contextRequest is a report about an agent's context window. The command of the agent's status line sends it.
type contextRequest struct {
	SessionID string `json:"session_id"`
	Tokens    int64  `json:"tokens"`
	Limit     int64  `json:"limit"` // how many tokens the window can hold
	// CostUSD is what the session has cost so far; null: not told.
	CostUSD *float64 `json:"cost_usd"`
}

// agentHandlers answer about agents.
type agentHandlers struct{ *house.House }

func (h agentHandlers) create(c echo.Context, in newAgentRequest) (daemon.Agent, error) {
	return h.Daemon.CreateAgent(c.Request().Context(), agents.NewAgent{
		Persona: in.Persona, Cwd: in.Cwd, Runtime: in.Runtime, Prompt: in.Prompt, Name: in.Name, Columns: in.Columns, Rows: in.Rows,
		Model: in.Model, PermissionMode: in.PermissionMode, Args: in.Args,
		Worktree: (*agents.NewWorktree)(in.Worktree),
	})
}

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

func (h agentHandlers) change(c echo.Context, id int64, in changeRequest) (daemon.Agent, error) {
	given, ctx := 0, c.Request().Context()
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

func (h agentHandlers) see(c echo.Context, id int64, in seenRequest) (daemon.Agent, error) {
	until, err := time.Parse(time.RFC3339Nano, in.FinishedAt)
	if err != nil {
		return daemon.Agent{}, invalid(codeInvalidField, "Field \"finished_at\" must be the finished_at of the agent that was seen")
	}
	return h.Marks.SeeAgent(c.Request().Context(), id, until)
}

func (h agentHandlers) resumeSeveral(c echo.Context, in resumeAgentsRequest) ([]views.Resumption, error) {
	var ids []int64
	if in.IDs != nil {
		if ids = *in.IDs; len(ids) == 0 {
			return nil, invalid(codeInvalidField, "Field \"ids\" must name agents: leave it out for all that died")
		}
	}
	return h.Daemon.ResumeAgents(c.Request().Context(), ids)
}

func (h agentHandlers) stop(c echo.Context, id int64, in stopRequest) (daemon.Agent, error) {
	return h.Daemon.StopAgent(c.Request().Context(), id, in.Force)
}

func (h agentHandlers) decideLimit(c echo.Context, id int64, in limitRequest) (daemon.Agent, error) {
	return h.Limits.DecideLimit(c.Request().Context(), id, limits.LimitDecision{Do: in.Do, Runtime: in.Runtime})
}

// reportContext answers with {}, even if the domain ignores the report because it is about another session.
func (h agentHandlers) reportContext(c echo.Context, id int64, in contextRequest) (struct{}, error) {
	return struct{}{}, h.Usage.ReportContext(c.Request().Context(), id, usage.ContextReport{
		SessionID: in.SessionID, Tokens: in.Tokens, Limit: in.Limit, CostUSD: in.CostUSD,
	})
}
