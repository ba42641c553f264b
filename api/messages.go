package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

type messageRequest struct {
	Text    string `json:"text"`
	Command bool   `json:"command"`
}

// sendMessage takes a message from the operator.
func (s *Server) sendMessage(c echo.Context) error { return s.takeMessage(c, true) }

// sendOwnMessage takes a message from an agent to itself. It refuses a command, because with a command the agent could run
// a shell command or change its own mode or permissions, which it may not do.
func (s *Server) sendOwnMessage(c echo.Context) error { return s.takeMessage(c, false) }

// takeMessage passes the text on unchanged. The domain decides whether it may be typed.
func (s *Server) takeMessage(c echo.Context, operator bool) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	var in messageRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	if in.Command && !operator {
		return errOperatorOnly
	}
	delivery, err := s.Daemon.SendMessage(c.Request().Context(), id, in.Text, in.Command)
	return reply(c, http.StatusAccepted, delivery, err)
}

type cancelMessagesRequest struct {
	DeliveryID *int64 `json:"delivery_id,omitempty"` // absent means all that is queued
}

// cancelMessages notes where the request comes from.
func (s *Server) cancelMessages(c echo.Context) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	var in cancelMessagesRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	only, err := fieldID("delivery_id", in.DeliveryID)
	if err != nil {
		return err
	}
	deliveries, err := s.Daemon.CancelMessages(c.Request().Context(), id, only, cameFrom(c))
	return replyList(c, deliveries, err)
}

func (s *Server) listMessages(c echo.Context) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	p := paramsOf(c)
	before, limit := p.id("before"), p.limit()
	if p.err != nil {
		return p.err
	}
	deliveries, err := s.Daemon.Deliveries(c.Request().Context(), id, before, limit)
	return replyList(c, deliveries, err)
}
