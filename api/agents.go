package api

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/limits"
	"github.com/understudyd/understudy/daemon/usage"
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

func (s *Server) createAgent(c echo.Context) error {
	var in newAgentRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	agent, err := s.Daemon.CreateAgent(c.Request().Context(), agents.NewAgent{
		Persona: in.Persona, Cwd: in.Cwd, Runtime: in.Runtime, Prompt: in.Prompt, Name: in.Name, Columns: in.Columns, Rows: in.Rows,
		Model: in.Model, PermissionMode: in.PermissionMode, Args: in.Args,
		Worktree: (*agents.NewWorktree)(in.Worktree),
	})
	return reply(c, http.StatusCreated, agent, err)
}

// active is the value of the parameter state that selects all agents that have not ended.
const active = "active"

func (s *Server) listAgents(c echo.Context) error {
	p := paramsOf(c)
	state := p.oneOf("state", active, string(daemon.Starting), string(daemon.Idle), string(daemon.Working), string(daemon.Waiting), string(daemon.Limited), string(daemon.Ended))
	filter := daemon.AgentFilter{Persona: p.text("persona"), Before: p.id("before"), Limit: p.limit()}
	if p.err != nil {
		return p.err
	}
	if state == active {
		filter.Active = true
	} else {
		filter.State = daemon.AgentState(state)
	}
	agents, err := s.Daemon.Agents(c.Request().Context(), filter)
	return replyList(c, agents, err)
}

func (s *Server) showAgent(c echo.Context) error {
	return replyOne(c, http.StatusOK, s.Daemon.Agent)
}

func (s *Server) changeAgent(c echo.Context) error {
	return replyOne(c, http.StatusOK, func(ctx context.Context, id int64) (daemon.Agent, error) {
		var in changeRequest
		if err := decode(c, &in); err != nil {
			return daemon.Agent{}, err
		}
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
			return s.Marks.RenameAgent(ctx, id, *in.Name)
		case in.NotifyFinished != nil:
			return s.Marks.NotifyWhenFinished(ctx, id, *in.NotifyFinished)
		}
		return s.Daemon.AssignPersona(ctx, id, in.Persona)
	})
}

func (s *Server) seeAgent(c echo.Context) error {
	return replyOne(c, http.StatusOK, func(ctx context.Context, id int64) (daemon.Agent, error) {
		var in seenRequest
		if err := decode(c, &in); err != nil {
			return daemon.Agent{}, err
		}
		until, err := time.Parse(time.RFC3339Nano, in.FinishedAt)
		if err != nil {
			return daemon.Agent{}, invalid(codeInvalidField, "Field \"finished_at\" must be the finished_at of the agent that was seen")
		}
		return s.Marks.SeeAgent(ctx, id, until)
	})
}

func (s *Server) resumeAgent(c echo.Context) error {
	return replyOne(c, http.StatusCreated, func(ctx context.Context, id int64) (daemon.Agent, error) {
		if err := decode(c, &struct{}{}); err != nil {
			return daemon.Agent{}, err
		}
		return s.Daemon.ResumeAgent(ctx, id)
	})
}

func (s *Server) resumeAgents(c echo.Context) error {
	var in resumeAgentsRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	if in.IDs != nil && len(*in.IDs) == 0 {
		return invalid(codeInvalidField, "Field \"ids\" must name agents: leave it out for all that died")
	}
	var ids []int64
	if in.IDs != nil {
		ids = *in.IDs
	}
	done, err := s.Daemon.ResumeAgents(c.Request().Context(), ids)
	return replyList(c, done, err)
}

func (s *Server) stopAgent(c echo.Context) error {
	return replyOne(c, http.StatusAccepted, func(ctx context.Context, id int64) (daemon.Agent, error) {
		var in stopRequest
		if err := decode(c, &in); err != nil {
			return daemon.Agent{}, err
		}
		return s.Daemon.StopAgent(ctx, id, in.Force)
	})
}

func (s *Server) decideLimit(c echo.Context) error {
	return replyOne(c, http.StatusOK, func(ctx context.Context, id int64) (daemon.Agent, error) {
		var in limitRequest
		if err := decode(c, &in); err != nil {
			return daemon.Agent{}, err
		}
		return s.Limits.DecideLimit(ctx, id, limits.LimitDecision{Do: in.Do, Runtime: in.Runtime})
	})
}

// reportContext answers with {}, even if the domain ignores the report because it is about another session.
func (s *Server) reportContext(c echo.Context) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	var in contextRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	err = s.Usage.ReportContext(c.Request().Context(), id, usage.ContextReport{
		SessionID: in.SessionID, Tokens: in.Tokens, Limit: in.Limit, CostUSD: in.CostUSD,
	})
	return reply(c, http.StatusOK, struct{}{}, err)
}
