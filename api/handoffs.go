package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/data"
)

type handoffRequest struct {
	Reason string      `json:"reason"`
	Focus  string      `json:"focus"`
	Mode   daemon.Mode `json:"mode"` // empty means the mode "agent"
	Force  bool        `json:"force"`

	// To whom. Without To, the first four fields describe the only heir; beside To, they hold for each heir that does not
	// say otherwise.
	ToPersona      string            `json:"to_persona,omitempty"`
	Runtime        string            `json:"runtime,omitempty"`
	Model          string            `json:"model,omitempty"`
	PermissionMode string            `json:"permission_mode,omitempty"`
	To             []json.RawMessage `json:"to,omitempty"`
	Keep           bool              `json:"keep,omitempty"` // the agent lives on beside its heirs
	DropMessages   bool              `json:"drop_messages,omitempty"`
	InPlace        *bool             `json:"in_place,omitempty"` // absent means as the setting handoff.in_place says
}

// heirs returns the heirs of a request; nil: it names none.
func (in *handoffRequest) heirs() ([]daemon.Heir, error) {
	common := daemon.Heir{Persona: in.ToPersona, Runtime: in.Runtime, Model: in.Model, PermissionMode: in.PermissionMode}
	switch {
	case len(in.To) == 0 && common == daemon.Heir{}:
		return nil, nil
	case len(in.To) == 0:
		return []daemon.Heir{common}, nil
	case in.ToPersona != "":
		return nil, invalid(daemon.CodeBadHeirs, "Field \"to_persona\" names the only heir: leave it out beside \"to\"")
	}
	heirs := make([]daemon.Heir, len(in.To))
	for i, raw := range in.To {
		heirs[i] = common
		if err := decodeObject(raw, &heirs[i]); err != nil {
			return nil, err
		}
	}
	return heirs, nil
}

type cancelRequest struct {
	HandoffID *int64 `json:"handoff_id,omitempty"` // absent means the agent's newest handoff
}

// Initiated is the answer to a request for a handoff. When the daemon sends it, the daemon has committed the handoff's
// row, and has not begun the handoff.
type Initiated struct {
	Status    string       `json:"status"` // always "initiated"
	HandoffID int64        `json:"handoff_id"`
	Ref       string       `json:"ref"`
	Phase     daemon.Phase `json:"phase"`
	FilePath  string       `json:"file_path"`
}

// handoffHandlers answer about handoffs.
type handoffHandlers struct{ *house.House }

func (h handoffHandlers) request(ctx context.Context, id int64, in handoffRequest) (Initiated, error) {
	return h.handOver(ctx, id, in, false)
}

// requestOwn requests the handoff of the agent that sends the request.
func (h handoffHandlers) requestOwn(ctx context.Context, id int64, in handoffRequest) (Initiated, error) {
	if in.DropMessages {
		return Initiated{}, errNotYourMessages
	}
	return h.handOver(ctx, id, in, true)
}

func (h handoffHandlers) handOver(ctx context.Context, id int64, in handoffRequest, self bool) (Initiated, error) {
	heirs, err := in.heirs()
	if err != nil {
		return Initiated{}, err
	}
	row, err := h.Daemon.RequestHandoff(ctx, id, handoffs.HandoffRequest{
		Reason: in.Reason, Focus: in.Focus, Mode: in.Mode, Force: in.Force, Heirs: heirs, Keep: in.Keep, DropMessages: in.DropMessages, InPlace: in.InPlace, Self: self,
	})
	return Initiated{"initiated", row.ID, row.Ref, row.Phase, row.FilePath}, err
}

func (h handoffHandlers) cancel(ctx context.Context, id int64, in cancelRequest) (daemon.Handoff, error) {
	shown, err := fieldID("handoff_id", in.HandoffID)
	if err != nil {
		return daemon.Handoff{}, err
	}
	return h.Daemon.CancelHandoff(ctx, id, shown)
}

func handoffFilter(p *params) daemon.HandoffFilter {
	return daemon.HandoffFilter{
		Persona: p.text("persona"),
		Status: daemon.Status(p.oneOf("status", string(daemon.StatusPending), string(daemon.StatusInProgress),
			string(daemon.StatusCompleted), string(daemon.StatusFailed), string(daemon.StatusCancelled))),
		Before: p.id("before"),
		Limit:  p.limit(),
	}
}

// Record is what a handoff passed on beside its document. It has everything of [daemon.Record] but the texts of the document
// and of the context file, which have addresses of their own.
type Record struct {
	HandoffID  int64            `json:"handoff_id"`
	AgentID    int64            `json:"agent_id"`
	Agent      string           `json:"agent"`
	Persona    string           `json:"persona"`
	Decisions  []data.Decision  `json:"decisions"`
	Todos      []data.Todo      `json:"todos"`
	References []data.Reference `json:"references"`
	Messages   []data.Message   `json:"messages"`
	Progress   bool             `json:"progress"`
	At         time.Time        `json:"at"`
}

func (h handoffHandlers) record(ctx context.Context, id int64) (Record, error) {
	r, err := h.Daemon.Record(ctx, id)
	return Record{
		HandoffID: r.HandoffID, AgentID: r.AgentID, Agent: r.Agent, Persona: r.Persona, Decisions: r.Decisions,
		Todos: r.Todos, References: r.References, Messages: r.Messages, Progress: r.Progress, At: r.At,
	}, err
}
