package api

import (
	"context"

	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/views"
)

// operatorHandlers answer about what the operator decides, is told and has set.
type operatorHandlers struct{ *house.House }

func (h operatorHandlers) attention(ctx context.Context) ([]views.Attention, error) {
	all, err := h.Daemon.Overview(ctx)
	return all.Attention(), err
}

func (h operatorHandlers) runtimes(ctx context.Context) ([]engine.RuntimeInfo, error) {
	return h.Daemon.Runtimes(ctx), nil
}
