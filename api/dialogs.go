package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/dialogs"
)

type dialogAnswerRequest struct {
	Dialog string `json:"dialog"`
	Choice int    `json:"choice"`
}

type keysRequest struct {
	Session string            `json:"session"`
	Seq     int               `json:"seq"`
	Keys    []dialogs.KeyItem `json:"keys"`
}

type keysEndRequest struct {
	Session string `json:"session"`
}

func (s *Server) showDialog(c echo.Context) error {
	return replyOne(c, http.StatusOK, s.Dialogs.Dialog)
}

// answerDialog notes where the answer comes from. The domain refuses a process that runs inside an agent.
func (s *Server) answerDialog(c echo.Context) error {
	return replyOne(c, http.StatusOK, func(ctx context.Context, id int64) (daemon.DialogAnswer, error) {
		var in dialogAnswerRequest
		if err := decode(c, &in); err != nil {
			return daemon.DialogAnswer{}, err
		}
		return s.Dialogs.AnswerDialog(ctx, id, dialogs.DialogChoiceRequest{
			Dialog: in.Dialog, Choice: in.Choice, From: cameFrom(c), Sender: sender(c.Request()),
		})
	})
}

func (s *Server) beginKeys(c echo.Context) error {
	return replyOne(c, http.StatusOK, func(ctx context.Context, id int64) (daemon.KeysTaken, error) {
		if err := decode(c, &struct{}{}); err != nil {
			return daemon.KeysTaken{}, err
		}
		return s.Dialogs.BeginKeys(ctx, id, keysOf(c))
	})
}

func (s *Server) typeKeys(c echo.Context) error {
	return replyOne(c, http.StatusOK, func(ctx context.Context, id int64) (dialogs.KeysTyped, error) {
		var in keysRequest
		if err := decode(c, &in); err != nil {
			return dialogs.KeysTyped{}, err
		}
		return s.Dialogs.TypeKeys(ctx, id, dialogs.KeyBatch{Session: in.Session, Seq: in.Seq, Items: in.Keys}, keysOf(c))
	})
}

func (s *Server) endKeys(c echo.Context) error {
	return replyOne(c, http.StatusOK, func(ctx context.Context, id int64) (daemon.Agent, error) {
		var in keysEndRequest
		if err := decode(c, &in); err != nil {
			return daemon.Agent{}, err
		}
		return s.Dialogs.EndKeys(ctx, id, in.Session, keysOf(c))
	})
}

func keysOf(c echo.Context) dialogs.KeysRequest {
	return dialogs.KeysRequest{From: cameFrom(c), Sender: sender(c.Request())}
}
