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

// answerDialog notes where the answer comes from.
func (h agentHandlers) answerDialog(ctx context.Context, id int64, in dialogAnswerRequest) (daemon.DialogAnswer, error) {
	return h.Dialogs.AnswerDialog(ctx, id, dialogs.DialogChoiceRequest{Dialog: in.Dialog, Choice: in.Choice, From: origin(ctx)})
}

func (h agentHandlers) beginKeys(ctx context.Context, id int64) (daemon.KeysTaken, error) {
	if err := notOverSocket(ctx); err != nil {
		return daemon.KeysTaken{}, err
	}
	return h.Dialogs.BeginKeys(ctx, id, origin(ctx))
}

func (h agentHandlers) typeKeys(ctx context.Context, id int64, in dialogs.KeyBatch) (dialogs.KeysTyped, error) {
	if err := notOverSocket(ctx); err != nil {
		return dialogs.KeysTyped{}, err
	}
	return h.Dialogs.TypeKeys(ctx, id, in)
}

func (h agentHandlers) endKeys(ctx context.Context, id int64, in keysEndRequest) (daemon.Agent, error) {
	return h.Dialogs.EndKeys(ctx, id, in.Session)
}

// notOverSocket refuses keys that come over the machine's socket, where a terminal is at hand.
func notOverSocket(ctx context.Context) error {
	if sender(ctx) != nil {
		return daemon.Errorf(daemon.KindForbidden, daemon.CodeKeysForbidden, "Keys come from a browser that is signed in, or with the token: in a terminal use `understudy agent attach`")
	}
	return nil
}
