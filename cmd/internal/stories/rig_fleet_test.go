package stories

import (
	"context"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/handoffs"
)

// startAgents starts n agents and waits until each is idle.
func startAgents(r *rig, n int) []int64 {
	r.t.Helper()
	ids := make([]int64, n)
	for i := range ids {
		a := r.createAgent(agents.NewAgent{Persona: con, Cwd: r.work})
		ids[i] = a.ID
		if i%10 == 9 { // A machine can start only some of them in the time that each may take.
			r.awaitAgent(a.ID, "idle", func(a daemon.Agent) bool { return a.State == daemon.Idle && a.HasPane() })
		}
	}
	for _, id := range ids {
		r.awaitAgent(id, "idle", func(a daemon.Agent) bool { return a.State == daemon.Idle && a.HasPane() })
	}
	return ids
}

// handOverAtOnce hands over all agents at once and returns how long that took, by the times in the rows. It replaces
// the ids by those of the successors. meanwhile runs until the last handoff has completed.
func handOverAtOnce(r *rig, ids []int64, meanwhile func(stop <-chan struct{})) time.Duration {
	r.t.Helper()
	handoffs := make([]int64, len(ids))
	for i, id := range ids {
		handoffs[i] = r.requestHandoff(id)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { meanwhile(stop) })
	var first, last time.Time
	for i, id := range handoffs {
		h := r.awaitPhase(id, daemon.Completed)
		if first.IsZero() || h.CreatedAt.Before(first) {
			first = h.CreatedAt
		}
		if h.CompletedAt.After(last) {
			last = *h.CompletedAt
		}
		ids[i] = *h.SuccessorID
	}
	close(stop)
	wg.Wait()
	for _, id := range ids {
		r.awaitAgent(id, "idle", func(a daemon.Agent) bool { return a.State == daemon.Idle })
	}
	return last.Sub(first)
}

// triggers requests ten handoffs of an agent a second and cancels each. It returns how long the daemon took to answer
// each request.
func (r *rig) triggers(id int64, stop <-chan struct{}) (all []time.Duration) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return all
		case <-tick.C:
		}
		started := time.Now()
		if _, err := r.client.RequestHandoff(context.Background(), id, handoffs.HandoffRequest{Force: true}); err != nil {
			r.t.Errorf("trigger: %v", err)
			return all
		}
		all = append(all, time.Since(started))
		if _, err := r.client.CancelHandoff(context.Background(), id, 0); err != nil {
			r.t.Errorf("cancel: %v", err)
			return all
		}
	}
}
