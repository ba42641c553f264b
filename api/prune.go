package api

import (
	"context"

	"github.com/understudyd/understudy/daemon"
)

// pruneRequest asks the daemon to delete now the rows that its settings do not keep.
type pruneRequest struct {
	DryRun bool `json:"dry_run"` // only count the rows
}

func (h operatorHandlers) prune(ctx context.Context, in pruneRequest) (daemon.PruneReport, error) {
	if in.DryRun {
		return h.History.WouldPrune(daemon.AsReader(ctx))
	}
	return h.History.Prune(ctx)
}
