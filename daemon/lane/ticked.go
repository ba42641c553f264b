package lane

import (
	"context"
	"time"
)

// Ticked waits for a tick or for the end of ctx, and reports whether ctx goes on. If both come at once, the end of ctx
// counts.
func Ticked(ctx context.Context, tick <-chan time.Time) bool {
	select {
	case <-tick:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
