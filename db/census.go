package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

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

// Census counts what a host has at work, in one query. States that nothing is in are left out.
func (db *DB) Census(ctx context.Context, host string) (daemon.Census, error) {
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

// PoolStats is what the pools of connections have been through since it was opened.
type PoolStats struct {
	Idle, Acquired, Constructing, Max int
	Waits                             int64 // for a connection, because none was idle
	Waited                            time.Duration
}

// Stats returns the figures of the pools together. It asks nothing of the database.
func (db *DB) Stats() PoolStats {
	var all PoolStats
	for _, pool := range []*pgxpool.Pool{db.pool, db.reads} {
		s := pool.Stat()
		all.Idle += int(s.IdleConns())
		all.Acquired += int(s.AcquiredConns())
		all.Constructing += int(s.ConstructingConns())
		all.Max += int(s.MaxConns())
		all.Waits += s.EmptyAcquireCount()
		all.Waited += s.EmptyAcquireWaitTime()
	}
	return all
}
