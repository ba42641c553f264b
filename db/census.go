package db

import (
	"context"
	"time"

	"github.com/understudyd/understudy/daemon"
)

const census = `
	SELECT 'agent' AS what, state AS name, count(*) AS n, min(state_at) AS since
	FROM agents WHERE host = $1 AND ended_at IS NULL GROUP BY state
	UNION ALL
	SELECT 'trouble', in_trouble->>'code', count(*), NULL
	FROM agents WHERE host = $1 AND ended_at IS NULL AND in_trouble IS NOT NULL GROUP BY 2
	UNION ALL
	SELECT 'handoff', phase, count(*), NULL
	FROM handoffs WHERE host = $1 AND phase NOT IN ('completed', 'failed', 'cancelled') GROUP BY phase
	UNION ALL
	SELECT 'pipeline', status, count(*), NULL
	FROM pipelines WHERE host = $1 AND status NOT IN ('done', 'failed') GROUP BY status`

// Census counts a host's open agents, handoffs and pipelines by state, in one query. It leaves out states that no row is in.
func (db *rowStore) Census(ctx context.Context, host string) (daemon.Census, error) {
	type row struct {
		What, Name string
		N          int
		Since      *time.Time
	}
	out := daemon.Census{
		Agents: map[daemon.AgentState]int{}, Trouble: map[string]int{}, Handoffs: map[daemon.Phase]int{}, Pipelines: map[daemon.PipelineStatus]int{},
	}
	rows, err := list[row](ctx, db, "census", census, host)
	if err != nil {
		return out, err
	}
	for _, r := range rows {
		switch r.What {
		case "agent":
			state := daemon.AgentState(r.Name)
			out.Agents[state] = r.N
			if state == daemon.Waiting {
				out.WaitingSince = r.Since
			}
		case "trouble":
			out.Trouble[r.Name] = r.N
		case "handoff":
			out.Handoffs[daemon.Phase(r.Name)] = r.N
		case "pipeline":
			out.Pipelines[daemon.PipelineStatus(r.Name)] = r.N
		}
	}
	return out, nil
}
