package api

import (
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

// answerDialog notes where the answer comes from. The domain refuses a process that runs inside an agent.
func (h agentHandlers) answerDialog(c echo.Context, id int64, in dialogAnswerRequest) (daemon.DialogAnswer, error) {
	return h.Dialogs.AnswerDialog(c.Request().Context(), id, dialogs.DialogChoiceRequest{
		Dialog: in.Dialog, Choice: in.Choice, From: cameFrom(c), Sender: sender(c.Request()),
	})
}

func (h agentHandlers) beginKeys(c echo.Context, id int64, _ struct{}) (daemon.KeysTaken, error) {
	return h.Dialogs.BeginKeys(c.Request().Context(), id, keysOf(c))
}

func (h agentHandlers) typeKeys(c echo.Context, id int64, in keysRequest) (dialogs.KeysTyped, error) {
	return h.Dialogs.TypeKeys(c.Request().Context(), id, dialogs.KeyBatch{Session: in.Session, Seq: in.Seq, Items: in.Keys}, keysOf(c))
}

func (h agentHandlers) endKeys(c echo.Context, id int64, in keysEndRequest) (daemon.Agent, error) {
	return h.Dialogs.EndKeys(c.Request().Context(), id, in.Session, keysOf(c))
}

func keysOf(c echo.Context) dialogs.KeysRequest {
	return dialogs.KeysRequest{From: cameFrom(c), Sender: sender(c.Request())}
}
