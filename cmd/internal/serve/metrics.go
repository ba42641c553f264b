package serve

import (
	"context"

	"github.com/understudyd/understudy/api"
)

// stats is what the metrics tell of the database.
func (b *database) stats(ctx context.Context) (api.DatabaseStats, error) {
	err := b.db.Ping(ctx)
	return api.DatabaseStats(b.db.Stats()), err
}
