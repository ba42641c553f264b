package sim

import (
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// checkResumed checks what the daemons did by themselves for agents that had died before their start: each such agent ended with
// its tmux server, which nobody asked for, and was seen to once.
func checkResumed(w *world, agents []daemon.Agent, events []event.Event) {
	rows, resumed, told := map[int64]*daemon.Agent{}, map[int64]int{}, map[int64]int{}
	for i := range agents {
		rows[agents[i].ID] = &agents[i]
	}
	for e := range each(events) {
		switch e.Type {
		case event.AgentResumed:
			resumed[*e.AgentID]++
		case event.AgentNotResumed:
			told[*e.AgentID]++
		default:
			continue
		}
		if a := rows[*e.AgentID]; a.Active() || *a.EndReason != "tmux_server_gone" || a.StopAskedAt != nil {
			w.fail("event %d: %s of agent %d, which ended by %v", e.ID, e.Type, a.ID, a.EndReason)
		}
		if !w.resume {
			w.fail("event %d: %s without the setting", e.ID, e.Type)
		}
	}
	for id, n := range resumed {
		heirs := 0
		for a := range each(agents) {
			if a.PreviousAgentID != nil && *a.PreviousAgentID == id && a.Resume != "" {
				heirs++
			}
		}
		if n != 1 || heirs == 0 || told[id] > 0 {
			w.fail("agent %d was resumed by a daemon %d times, told of as not resumed %d times, and has %d agents that opened its session", id, n, told[id], heirs)
		}
	}
	for id, n := range told {
		if n > 1 {
			w.fail("the operator was told %d times that agent %d was not resumed", n, id)
		}
	}
	w.plan.counts["resumed by the daemon"] += len(resumed)
	w.plan.counts["not resumed by the daemon"] += len(told)
}
