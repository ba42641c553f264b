package api

import (
	"context"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/dialogs"
)

type dialogAnswerRequest struct {
	Dialog string `json:"dialog"`
	Choice int    `json:"choice"`
}

type keysEndRequest struct {
	Session string `json:"session"`
}

// answerDialog notes where the answer comes from. The domain refuses a process that runs inside an agent.
func (h agentHandlers) answerDialog(ctx context.Context, id int64, in dialogAnswerRequest) (daemon.DialogAnswer, error) {
	return h.Dialogs.AnswerDialog(ctx, id, dialogs.DialogChoiceRequest{Dialog: in.Dialog, Choice: in.Choice, From: origin(ctx), Sender: sender(ctx)})
}

func (h agentHandlers) beginKeys(ctx context.Context, id int64) (daemon.KeysTaken, error) {
	return h.Dialogs.BeginKeys(ctx, id, keysOf(ctx))
}

func (h agentHandlers) typeKeys(ctx context.Context, id int64, in dialogs.KeyBatch) (dialogs.KeysTyped, error) {
	return h.Dialogs.TypeKeys(ctx, id, in, keysOf(ctx))
}

func (h agentHandlers) endKeys(ctx context.Context, id int64, in keysEndRequest) (daemon.Agent, error) {
	return h.Dialogs.EndKeys(ctx, id, in.Session, keysOf(ctx))
}

func keysOf(ctx context.Context) dialogs.KeysRequest {
	return dialogs.KeysRequest{From: origin(ctx), Sender: sender(ctx)}
}
