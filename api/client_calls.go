package api

import (
	"context"
	"net/url"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/personas"
)

// CreateAgent starts an agent.
func (c *Client) CreateAgent(ctx context.Context, in daemon.NewAgent) (daemon.Agent, error) {
	body := newAgentRequest{Persona: in.Persona, Cwd: in.Cwd, Runtime: in.Runtime, Prompt: in.Prompt, Name: in.Name, Columns: in.Columns, Rows: in.Rows}
	return call[daemon.Agent](ctx, c, "POST", "/api/agents", body)
}

// Agents lists the newest first.
func (c *Client) Agents(ctx context.Context, o ListOptions) ([]daemon.Agent, error) {
	return call[[]daemon.Agent](ctx, c, "GET", "/api/agents"+o.query(), nil)
}

// Agent returns one agent.
func (c *Client) Agent(ctx context.Context, id int64) (daemon.Agent, error) {
	return call[daemon.Agent](ctx, c, "GET", at("agents", id, ""), nil)
}

// AssignPersona gives a persona to an agent that registered by itself.
func (c *Client) AssignPersona(ctx context.Context, id int64, slug string) (daemon.Agent, error) {
	return call[daemon.Agent](ctx, c, "PATCH", at("agents", id, ""), assignRequest{Persona: slug})
}

// ResumeAgent opens an ended agent's session again, as a new agent.
func (c *Client) ResumeAgent(ctx context.Context, id int64) (daemon.Agent, error) {
	return call[daemon.Agent](ctx, c, "POST", at("agents", id, "/resume"), struct{}{})
}

// StopAgent asks an agent to end; with force, without asking politely first.
func (c *Client) StopAgent(ctx context.Context, id int64, force bool) (daemon.Agent, error) {
	return call[daemon.Agent](ctx, c, "POST", at("agents", id, "/stop"), stopRequest{Force: force})
}

// Screen returns what an agent's pane shows, as "text" or "html".
func (c *Client) Screen(ctx context.Context, id int64, format string) (string, error) {
	b, err := c.fetch(ctx, "GET", at("agents", id, "/screen?format="+url.QueryEscape(format)), nil)
	return string(b), err
}

// SendMessage has a text typed to an agent; command says that it is meant as one of the runtime's.
func (c *Client) SendMessage(ctx context.Context, id int64, text string, command bool) (daemon.Delivery, error) {
	return call[daemon.Delivery](ctx, c, "POST", at("agents", id, "/messages"), messageRequest{Text: text, Command: command})
}

// Messages lists an agent's deliveries, newest first.
func (c *Client) Messages(ctx context.Context, id int64, o ListOptions) ([]daemon.Delivery, error) {
	return call[[]daemon.Delivery](ctx, c, "GET", at("agents", id, "/messages"+o.query()), nil)
}

// Peers returns what an agent may know of itself and of those beside it. Agents' clients alone may ask.
func (c *Client) Peers(ctx context.Context, agentID int64) (daemon.Peers, error) {
	return call[daemon.Peers](ctx, c, "GET", at("agents", agentID, "/peers"), nil)
}

// SendToPeer has a text of one agent typed to another, who is named by its id or a persona's slug.
// Agents' clients alone may ask.
func (c *Client) SendToPeer(ctx context.Context, agentID int64, to, text string) (PeerDelivery, error) {
	return call[PeerDelivery](ctx, c, "POST", at("agents", agentID, "/peers/messages"), peerMessageRequest{To: to, Text: text})
}

// RequestHandoff has an agent hand over, and returns at once.
func (c *Client) RequestHandoff(ctx context.Context, agentID int64, in daemon.HandoffRequest) (Initiated, error) {
	body := handoffRequest{Reason: in.Reason, Focus: in.Focus, Mode: in.Mode, Force: in.Force}
	return call[Initiated](ctx, c, "POST", at("agents", agentID, "/handoff"), body)
}

// LatestHandoff returns an agent's newest handoff.
func (c *Client) LatestHandoff(ctx context.Context, agentID int64) (daemon.Handoff, error) {
	return call[daemon.Handoff](ctx, c, "GET", at("agents", agentID, "/handoff"), nil)
}

// CancelHandoff cancels an agent's handoff, which works until its document is recorded: the one with an
// id and no other, or with 0 the newest.
func (c *Client) CancelHandoff(ctx context.Context, agentID, id int64) (daemon.Handoff, error) {
	return call[daemon.Handoff](ctx, c, "DELETE", at("agents", agentID, "/handoff"), cancelRequest{givenID(id)})
}

// Handoffs lists the newest first.
func (c *Client) Handoffs(ctx context.Context, o ListOptions) ([]daemon.Handoff, error) {
	return call[[]daemon.Handoff](ctx, c, "GET", "/api/handoffs"+o.query(), nil)
}

// Handoff returns one handoff.
func (c *Client) Handoff(ctx context.Context, id int64) (daemon.Handoff, error) {
	return call[daemon.Handoff](ctx, c, "GET", at("handoffs", id, ""), nil)
}

// RetryHandoff goes on from the phase that failed, in another mode; "" keeps the one it has.
func (c *Client) RetryHandoff(ctx context.Context, id int64, mode string) (daemon.Handoff, error) {
	return call[daemon.Handoff](ctx, c, "POST", at("handoffs", id, "/retry"), retryRequest{Mode: mode})
}

// Line lists the handoffs of the line that a handoff's agent belongs to, newest first.
func (c *Client) Line(ctx context.Context, handoffID int64) ([]daemon.Handoff, error) {
	return call[[]daemon.Handoff](ctx, c, "GET", at("handoffs", handoffID, "/line"), nil)
}

// Attention lists what needs a person, the longest wait first.
func (c *Client) Attention(ctx context.Context) ([]daemon.Attention, error) {
	return call[[]daemon.Attention](ctx, c, "GET", "/api/attention", nil)
}

// Transitions returns the moves of a handoff, in order.
func (c *Client) Transitions(ctx context.Context, id int64) ([]daemon.Transition, error) {
	return call[[]daemon.Transition](ctx, c, "GET", at("handoffs", id, "/transitions"), nil)
}

// Document returns a handoff's document.
func (c *Client) Document(ctx context.Context, id int64) ([]byte, error) {
	return c.fetch(ctx, "GET", at("handoffs", id, "/document"), nil)
}

// ContextFile returns a handoff's context file.
func (c *Client) ContextFile(ctx context.Context, id int64) ([]byte, error) {
	return c.fetch(ctx, "GET", at("handoffs", id, "/context"), nil)
}

// CreatePersona makes a persona under the next number of its role and name.
func (c *Client) CreatePersona(ctx context.Context, in personas.New) (FullPersona, error) {
	body := newPersonaRequest{Role: in.Role, Name: in.Name, Description: in.Description, Skill: in.Skill}
	return call[FullPersona](ctx, c, "POST", "/api/personas", body)
}

// Personas lists those that are in use, or those that were put away, by slug.
func (c *Client) Personas(ctx context.Context, archived bool) ([]Persona, error) {
	path := "/api/personas"
	if archived {
		path += "?archived=true"
	}
	return call[[]Persona](ctx, c, "GET", path, nil)
}

// Persona returns one persona with its texts.
func (c *Client) Persona(ctx context.Context, slug string) (FullPersona, error) {
	return call[FullPersona](ctx, c, "GET", "/api/personas/"+url.PathEscape(slug), nil)
}

// ArchivePersona puts a persona away, with its documents.
func (c *Client) ArchivePersona(ctx context.Context, slug string) (FullPersona, error) {
	return call[FullPersona](ctx, c, "DELETE", "/api/personas/"+url.PathEscape(slug), nil)
}

// PersonaHandoffs lists a persona's handoffs, newest first.
func (c *Client) PersonaHandoffs(ctx context.Context, slug string, o ListOptions) ([]daemon.Handoff, error) {
	o.Persona = "" // it is in the address
	return call[[]daemon.Handoff](ctx, c, "GET", "/api/personas/"+url.PathEscape(slug)+"/handoffs"+o.query(), nil)
}

// CreatePipeline makes a run of a template.
func (c *Client) CreatePipeline(ctx context.Context, in daemon.NewPipeline) (daemon.Pipeline, error) {
	body := newPipelineRequest{Template: in.Template, Title: in.Title, Prompt: in.Prompt, Branch: in.Branch, Cwd: in.Cwd}
	return call[daemon.Pipeline](ctx, c, "POST", "/api/pipelines", body)
}

// Pipelines lists runs, the newest first.
func (c *Client) Pipelines(ctx context.Context, o ListOptions) ([]daemon.Pipeline, error) {
	return call[[]daemon.Pipeline](ctx, c, "GET", "/api/pipelines"+o.query(), nil)
}

// Pipeline returns one run.
func (c *Client) Pipeline(ctx context.Context, id int64) (daemon.Pipeline, error) {
	return call[daemon.Pipeline](ctx, c, "GET", at("pipelines", id, ""), nil)
}

// AbortPipeline ends a run that has not ended.
func (c *Client) AbortPipeline(ctx context.Context, id int64) (daemon.Pipeline, error) {
	return call[daemon.Pipeline](ctx, c, "POST", at("pipelines", id, "/abort"), struct{}{})
}

// ResumePipeline has a failed run go on from its first step that is not done; with skip, from the
// one after it.
func (c *Client) ResumePipeline(ctx context.Context, id int64, skip bool) (daemon.Pipeline, error) {
	return call[daemon.Pipeline](ctx, c, "POST", at("pipelines", id, "/resume"), resumeRequest{Skip: skip})
}

// ApprovePipeline lets a run that waits for approval go on, with a comment for the step, or "".
func (c *Client) ApprovePipeline(ctx context.Context, id int64, in daemon.Decision) (daemon.Pipeline, error) {
	return call[daemon.Pipeline](ctx, c, "POST", at("pipelines", id, "/approve"), decisionRequest{givenID(in.StepID), in.Comment})
}

// RejectPipeline ends a run that waits for approval, with a comment that says why, or "".
func (c *Client) RejectPipeline(ctx context.Context, id int64, in daemon.Decision) (daemon.Pipeline, error) {
	return call[daemon.Pipeline](ctx, c, "POST", at("pipelines", id, "/reject"), decisionRequest{givenID(in.StepID), in.Comment})
}

// Templates lists the templates of runs by name, those that can't be used among them.
func (c *Client) Templates(ctx context.Context) ([]Template, error) {
	return call[[]Template](ctx, c, "GET", "/api/templates", nil)
}

// Health says that the daemon answers.
func (c *Client) Health(ctx context.Context) (Health, error) {
	return call[Health](ctx, c, "GET", "/healthz", nil)
}

// Ready says that the daemon's database and tmux answer.
func (c *Client) Ready(ctx context.Context) (Health, error) {
	return call[Health](ctx, c, "GET", "/readyz", nil)
}

// DashboardLink makes a link that opens the dashboard once.
func (c *Client) DashboardLink(ctx context.Context) (DashboardLink, error) {
	return call[DashboardLink](ctx, c, "POST", "/api/dashboard/links", nil)
}

// Logins lists the browsers that are signed in to the dashboard, the newest first.
func (c *Client) Logins(ctx context.Context) ([]Login, error) {
	return call[[]Login](ctx, c, "GET", "/api/dashboard/logins", nil)
}

// RevokeLogins signs browsers out, all of them if no id is given, and returns those that were signed in.
func (c *Client) RevokeLogins(ctx context.Context, ids ...string) (gone []Login, err error) {
	if len(ids) == 0 {
		return call[[]Login](ctx, c, "DELETE", "/api/dashboard/logins", nil)
	}
	for _, id := range ids {
		one, err := call[[]Login](ctx, c, "DELETE", "/api/dashboard/logins/"+url.PathEscape(id), nil)
		if err != nil {
			return gone, err
		}
		gone = append(gone, one...)
	}
	return gone, nil
}
