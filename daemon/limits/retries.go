package limits

import (
	"context"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// Some runtimes end a turn soon after the API has refused its requests. Others send the request again for a quarter of an hour,
// or without end, and the turn runs on meanwhile. Such a turn is trouble from the first refused request on, and after
// LimitSettings.APITimeout the daemon ends the turn, so that the policy decides.

// retries reports whether a turn runs whose request the runtime sends again by itself, or that the daemon is ending for that.
func retries(a *daemon.Agent) bool {
	return a.Ending() || a.State == daemon.Working && a.Trouble != nil && a.Trouble.Retrying
}

// endRetriesAgain is how long the daemon waits for the end of a turn that it has ended before it tries that again.
const endRetriesAgain = 5 * time.Second

// endRetries ends a turn whose requests the API has refused for longer than LimitSettings.APITimeout. It commits the limit first.
// The report of the turn's end then makes the agent limited, and the policy decides. A daemon that was killed in between
// leaves the limit, and the next one ends the turn.
func (r *Room) endRetries(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	if !a.Ending() {
		since := a.Trouble.Since
		if a.Limit != nil && since.Before(a.StateAt) { // the turn tries whether the API is back
			since = a.StateAt
		}
		if left := r.env.TimeLeft(since, r.env.Settings().Limits.APITimeout); left > 0 {
			return false, min(left, daemon.LimitLook), nil
		}
		now := r.env.Now()
		a.ReachLimitInTurn(daemon.LimitAPI, &now, now)
		if err := r.env.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}}); err != nil {
			return false, 0, fmt.Errorf("agent %d: limit of its API: %w", a.ID, err)
		}
		return true, 0, nil
	}
	if r.env.TurnInterrupted(ctx, a) { // another Escape could open something; the report of the end is on its way
		return false, endRetriesAgain, nil
	}
	if err := r.env.PressEscape(ctx, a); err != nil {
		return false, 0, fmt.Errorf("agent %d: ending the turn whose requests the API refuses: %w", a.ID, err)
	}
	return false, endRetriesAgain, nil
}
