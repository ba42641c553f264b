package memory

import (
	"context"

	"github.com/understudyd/understudy/daemon"
)

// Census counts a host's active agents, open handoffs and open pipelines by their states. It leaves out a state with
// none.
func (s *Store) Census(ctx context.Context, host string) (daemon.Census, error) {
	leave, err := s.enter(ctx, "census")
	if err != nil {
		return daemon.Census{}, err
	}
	defer leave()
	out := daemon.Census{
		Agents: map[daemon.AgentState]int{}, Trouble: map[string]int{},
		Handoffs: map[daemon.Phase]int{}, Pipelines: map[daemon.PipelineStatus]int{},
	}
	for _, a := range s.agents.all() {
		if a.Host != host || !a.Active() {
			continue
		}
		out.Agents[a.State]++
		if a.Trouble != nil {
			out.Trouble[a.Trouble.Code]++
		}
		if a.State == daemon.Waiting && (out.WaitingSince == nil || a.StateAt.Before(*out.WaitingSince)) {
			since := a.StateAt
			out.WaitingSince = &since
		}
	}
	for _, h := range s.handoffs.all() {
		if h.Host == host && h.Open() {
			out.Handoffs[h.Phase]++
		}
	}
	for _, p := range s.pipelines.all() {
		if p.Host == host && p.Open() {
			out.Pipelines[p.Status]++
		}
	}
	return out, nil
}
