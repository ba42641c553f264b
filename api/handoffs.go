package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
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

// heirRequest is one of the heirs in a request.
type heirRequest struct {
	Persona        string `json:"persona"`
	Runtime        string `json:"runtime"`
	Model          string `json:"model"`
	PermissionMode string `json:"permission_mode"`
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
		heir := heirRequest(common)
		if err := decodeObject(raw, &heir); err != nil {
			return nil, err
		}
		heirs[i] = daemon.Heir(heir)
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

func (s *Server) requestHandoff(c echo.Context) error { return s.handOver(c, false) }

// requestOwnHandoff requests the handoff of the agent that sends the request.
func (s *Server) requestOwnHandoff(c echo.Context) error { return s.handOver(c, true) }

func (s *Server) handOver(c echo.Context, self bool) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	var in handoffRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	if in.DropMessages && self {
		return errNotYourMessages
	}
	heirs, err := in.heirs()
	if err != nil {
		return err
	}
	h, err := s.Daemon.RequestHandoff(c.Request().Context(), id, handoffs.HandoffRequest{
		Reason: in.Reason, Focus: in.Focus, Mode: in.Mode, Force: in.Force, Heirs: heirs, Keep: in.Keep, DropMessages: in.DropMessages, InPlace: in.InPlace, Self: self,
	})
	return reply(c, http.StatusOK, Initiated{"initiated", h.ID, h.Ref, h.Phase, h.FilePath}, err)
}

func (s *Server) latestHandoff(c echo.Context) error {
	return replyOne(c, http.StatusOK, s.Daemon.LatestHandoff)
}

func (s *Server) cancelHandoff(c echo.Context) error {
	var in cancelRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	shown, err := fieldID("handoff_id", in.HandoffID)
	if err != nil {
		return err
	}
	return replyOne(c, http.StatusOK, func(ctx context.Context, id int64) (daemon.Handoff, error) {
		return s.Daemon.CancelHandoff(ctx, id, shown)
	})
}

func (s *Server) showHandoff(c echo.Context) error {
	return replyOne(c, http.StatusOK, s.Daemon.Handoff)
}

func (s *Server) retryHandoff(c echo.Context) error {
	var in handoffs.Retry
	if err := decode(c, &in); err != nil {
		return err
	}
	return replyOne(c, http.StatusOK, func(ctx context.Context, id int64) (daemon.Handoff, error) {
		return s.Daemon.RetryHandoff(ctx, id, in)
	})
}

func (s *Server) listHandoffs(c echo.Context) error {
	return s.replyHandoffs(c, paramsOf(c).text("persona"))
}

func (s *Server) listTransitions(c echo.Context) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	transitions, err := s.Daemon.Transitions(c.Request().Context(), id)
	return replyList(c, transitions, err)
}

func (s *Server) listLine(c echo.Context) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	line, err := s.Daemon.Line(c.Request().Context(), id)
	return replyList(c, line, err)
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

func (s *Server) showRecord(c echo.Context) error {
	return replyOne(c, http.StatusOK, func(ctx context.Context, id int64) (Record, error) {
		r, err := s.Daemon.Record(ctx, id)
		return Record{
			HandoffID: r.HandoffID, AgentID: r.AgentID, Agent: r.Agent, Persona: r.Persona, Decisions: r.Decisions,
			Todos: r.Todos, References: r.References, Messages: r.Messages, Progress: r.Progress, At: r.At,
		}, err
	})
}

func (s *Server) showDocument(c echo.Context) error {
	return replyMarkdown(c, s.Daemon.Document)
}

func (s *Server) showContext(c echo.Context) error {
	return replyMarkdown(c, s.Daemon.ContextFile)
}

// replyHandoffs answers with the handoffs that match the parameters. If persona is not "", it answers with the handoffs of
// that persona only.
func (s *Server) replyHandoffs(c echo.Context, persona string) error {
	p := paramsOf(c)
	filter := daemon.HandoffFilter{
		Persona: persona,
		Status: daemon.Status(p.oneOf("status", string(daemon.StatusPending), string(daemon.StatusInProgress),
			string(daemon.StatusCompleted), string(daemon.StatusFailed), string(daemon.StatusCancelled))),
		Before: p.id("before"),
		Limit:  p.limit(),
	}
	if p.err != nil {
		return p.err
	}
	handoffs, err := s.Daemon.Handoffs(c.Request().Context(), filter)
	return replyList(c, handoffs, err)
}

func replyMarkdown(c echo.Context, get func(context.Context, int64) ([]byte, error)) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	text, err := get(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return c.Blob(http.StatusOK, "text/markdown; charset=utf-8", text)
}
