package mcpserver

import (
	"context"
	"errors"
	"fmt"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
)

// nothing is the input of tools that take no input.
type nothing struct{}

// self is the answer of whoami.
type self struct {
	AgentID        int64   `json:"agent_id"`
	Name           string  `json:"name"`
	Persona        string  `json:"persona,omitempty" jsonschema:"absent: you play none"`
	State          string  `json:"state"`
	Generation     int     `json:"generation" jsonschema:"1 for the first agent of a line; each successor has one more"`
	PreviousAgent  int64   `json:"previous_agent_id,omitempty" jsonschema:"the agent whose work you took over"`
	ContextPercent float64 `json:"context_percent,omitempty" jsonschema:"how full your context window is; absent: not known"`
}

func (s *server) whoami(ctx context.Context, _ nothing) (self, error) {
	peers, err := s.client.Peers(ctx, s.agent)
	if err != nil {
		return self{}, err
	}
	you := peers.You
	out := self{AgentID: you.ID, Name: you.Name, State: string(you.State), Generation: you.Generation}
	if you.Persona != nil {
		out.Persona = *you.Persona
	}
	if you.PreviousAgentID != nil {
		out.PreviousAgent = *you.PreviousAgentID
	}
	if you.Context != nil && you.Context.Percent != nil {
		out.ContextPercent = *you.Context.Percent
	}
	return out, nil
}

// cast is the answer of list_personas.
type cast struct {
	Personas []persona `json:"personas"`
}

type persona struct {
	Slug        string  `json:"slug"`
	Role        string  `json:"role"`
	Description string  `json:"description"`
	Agents      []agent `json:"agents" jsonschema:"the active agents that play it, the newest first"`
}

type agent struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	State string `json:"state" jsonschema:"starting, idle, working, or waiting for a person"`
	// A message to an agent in trouble is typed as usual, but its turn fails.
	Trouble string `json:"trouble,omitempty" jsonschema:"why its turns fail, such as usage_limit: it won't answer before that is over"`
	You     bool   `json:"you,omitempty"`
}

func (s *server) listPersonas(ctx context.Context, _ nothing) (cast, error) {
	peers, err := s.client.Peers(ctx, s.agent)
	if err != nil {
		return cast{}, err
	}
	out := cast{Personas: []persona{}}
	for _, p := range peers.Personas {
		shown := persona{Slug: p.Slug, Role: p.Role, Description: p.Description, Agents: []agent{}}
		for _, a := range p.Agents {
			shown.Agents = append(shown.Agents, agent{ID: a.ID, Name: a.Name, State: string(a.State), Trouble: a.Trouble, You: a.ID == s.agent})
		}
		out.Personas = append(out.Personas, shown)
	}
	return out, nil
}

// message is the input of send_message.
type message struct {
	To   string `json:"to" jsonschema:"an agent's id, as \"7\", or a persona's slug, as \"developer-con-1\": then its newest agent"`
	Text string `json:"text" jsonschema:"best at most two lines and 700 characters, since more reaches the other as pasted content; never more than 4,000: put that into a file and name it"`
}

// sent is the answer of send_message.
type sent struct {
	DeliveryID int64  `json:"delivery_id"`
	ToAgentID  int64  `json:"to_agent_id"`
	State      string `json:"state"`
	Next       string `json:"next"`
}

func (s *server) sendMessage(ctx context.Context, in message) (sent, error) {
	dl, err := s.client.SendToPeer(ctx, s.agent, in.To, in.Text)
	if err != nil {
		return sent{}, err
	}
	return sent{
		DeliveryID: dl.ID, ToAgentID: dl.ToAgentID, State: string(dl.State),
		Next: fmt.Sprintf("Agent %d gets it when it is idle. Go on with your work.", dl.ToAgentID),
	}, nil
}

// request is the input of request_handoff.
type request struct {
	Reason string `json:"reason,omitempty" jsonschema:"why, in a few words on one line, for the operator"`
	Focus  string `json:"focus,omitempty" jsonschema:"what the document should dwell on; absent: everything"`

	To      []string `json:"to,omitempty" jsonschema:"the personas that take over, as slugs; absent: your own. The operator says which you may name"`
	Runtime string   `json:"runtime,omitempty" jsonschema:"the CLI that they run on; absent: that of the persona, else yours"`
	Model   string   `json:"model,omitempty" jsonschema:"their model; absent: that of the persona, else yours"`
	Keep    bool     `json:"keep,omitempty" jsonschema:"you work on beside them; else you are shut down"`
}

// standing is the answer of request_handoff and handoff_status.
type standing struct {
	HandoffID int64  `json:"handoff_id,omitempty" jsonschema:"absent: you have asked for none"`
	Status    string `json:"status" jsonschema:"none, pending, in_progress, completed, failed or cancelled"`
	Phase     string `json:"phase,omitempty"`
	Note      string `json:"note,omitempty" jsonschema:"what it waits for"`
	Error     string `json:"error,omitempty"`
	Next      string `json:"next" jsonschema:"what comes next, or what you are to do"`
}

// defaultReason tells the operator that the agent itself has asked for the handoff.
const defaultReason = "asked for by the agent"

// handoff returns the request for the agent's own handoff.
func (in *request) handoff() handoffs.HandoffRequest {
	out := handoffs.HandoffRequest{Reason: in.Reason, Focus: in.Focus, Keep: in.Keep}
	to := in.To
	if len(to) == 0 && (in.Runtime != "" || in.Model != "") {
		to = []string{""}
	}
	for _, persona := range to {
		out.Heirs = append(out.Heirs, daemon.Heir{Persona: persona, Runtime: in.Runtime, Model: in.Model})
	}
	return out
}

func (s *server) requestHandoff(ctx context.Context, in request) (standing, error) {
	if in.Reason == "" {
		in.Reason = defaultReason
	}
	h, err := s.client.RequestHandoff(ctx, s.agent, in.handoff())
	if err != nil {
		return standing{}, err
	}
	return standing{HandoffID: h.HandoffID, Status: string(daemon.StatusPending), Phase: string(h.Phase), Next: next(h.Phase)}, nil
}

func (s *server) handoffStatus(ctx context.Context, _ nothing) (standing, error) {
	h, err := s.client.LatestHandoff(ctx, s.agent)
	var told *daemon.Error
	switch {
	case errors.As(err, &told) && told.Code == daemon.CodeHandoffNotFound:
		return standing{Status: "none", Next: "Go on with your work; request_handoff begins one."}, nil
	case err != nil:
		return standing{}, err
	}
	out := standing{HandoffID: h.ID, Status: string(h.Status), Phase: string(h.Phase), Note: h.Note, Next: next(h.Phase)}
	if h.Error != nil {
		out.Error = h.Error.Message
	}
	return out, nil
}

// next tells the outgoing agent what happens after a phase.
func next(phase daemon.Phase) string {
	switch phase {
	case daemon.Requested, daemon.Instructing:
		return "Finish your turn; when it ends you will be asked for the document."
	case daemon.AwaitingDocument:
		return "Write the document that you were asked for, then finish your turn."
	case daemon.Generating:
		return "A copy of your session writes the document; nothing is asked of you."
	case daemon.Failed:
		return "Go on with your work; the operator sees the error and can try again."
	case daemon.Cancelled:
		return "Go on with your work."
	}
	return "Your work is going over to your successor; begin nothing new."
}
