package api

import (
	"context"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/dialogs"
	"github.com/understudyd/understudy/daemon/sight"
)

// Dialog returns the dialog that an agent's pane shows now.
func (c agentCalls) Dialog(ctx context.Context, agentID int64) (sight.Dialog, error) {
	return call[sight.Dialog](ctx, c, "GET", at("agents", agentID, "/dialog"), nil)
}

// AnswerDialog takes a choice of the dialog with that id, if it is still open, and returns what has become of the answer.
func (c agentCalls) AnswerDialog(ctx context.Context, agentID int64, dialog string, choice int) (daemon.DialogAnswer, error) {
	return call[daemon.DialogAnswer](ctx, c, "POST", at("agents", agentID, "/dialog"), dialogAnswerRequest{dialog, choice})
}

// BeginKeys lets an agent's pane take keys. It needs a client that calls over TCP.
func (c agentCalls) BeginKeys(ctx context.Context, agentID int64) (daemon.KeysTaken, error) {
	return call[daemon.KeysTaken](ctx, c, "PUT", at("agents", agentID, "/keys"), struct{}{})
}

// TypeKeys types a batch of keys.
func (c agentCalls) TypeKeys(ctx context.Context, agentID int64, in dialogs.KeyBatch) (dialogs.KeysTyped, error) {
	return call[dialogs.KeysTyped](ctx, c, "POST", at("agents", agentID, "/keys"), in)
}

// EndKeys ends a session of keys.
func (c agentCalls) EndKeys(ctx context.Context, agentID int64, session string) (daemon.Agent, error) {
	return call[daemon.Agent](ctx, c, "DELETE", at("agents", agentID, "/keys"), keysEndRequest{session})
}
