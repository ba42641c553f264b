package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/storetext"
)

const (
	moveUsageRead = `
		INSERT INTO usage_read (host, path, agent_id, read_to, model) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (host, path) DO UPDATE SET agent_id = EXCLUDED.agent_id, read_to = EXCLUDED.read_to, model = EXCLUDED.model
		WHERE usage_read.read_to = $6`

	insertUsage = `
		INSERT INTO usage (runtime, key, agent_id, host, persona, pipeline_id, model, at, input, output, cache_read, cache_write, reasoning, cost_micros)
		SELECT $1, key, $2, $3, $4, $5, model, at, input, output, cache_read, cache_write, reasoning, cost_micros
		FROM unnest($6::text[], $7::text[], $8::timestamptz[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[])
		     AS u (key, model, at, input, output, cache_read, cache_write, reasoning, cost_micros)
		ORDER BY key
		ON CONFLICT (runtime, key) DO UPDATE SET
			input = GREATEST(usage.input, EXCLUDED.input), output = GREATEST(usage.output, EXCLUDED.output),
			cache_read = GREATEST(usage.cache_read, EXCLUDED.cache_read), cache_write = GREATEST(usage.cache_write, EXCLUDED.cache_write),
			reasoning = GREATEST(usage.reasoning, EXCLUDED.reasoning), cost_micros = GREATEST(usage.cost_micros, EXCLUDED.cost_micros)`

	insertUsageRead  = `INSERT INTO usage_read (host, path, agent_id, read_to) VALUES ($1, $2, $3, 0) ON CONFLICT DO NOTHING`
	insertBudgetMark = `INSERT INTO budget_marks (host, persona, day, mark, budget, at) VALUES ($1, $2, $3::text::date, $4, $5, $6) ON CONFLICT DO NOTHING`
)

// AddUsage counts answers and notes how far their source was read.
func (db *logStore) AddUsage(ctx context.Context, in daemon.UsageAdded) error {
	err := db.commit(ctx, &daemon.Change{}, func(_ pgx.Tx, w *write) error {
		r := in.Read
		w.guarded("usage of "+r.Path, moveUsageRead, storable(r.Host, r.Path, in.Agent.ID, r.ReadTo, r.Model, in.From)...)
		if len(in.Answers) > 0 {
			w.usage(&in)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("agent %d: usage: %w", in.Agent.ID, unavailable(err))
	}
	return nil
}

// usage queues the inserts of answers.
func (w *write) usage(in *daemon.UsageAdded) {
	n := len(in.Answers)
	keys, models, at := make([]string, n), make([]string, n), make([]time.Time, n)
	var counts [5][]int64
	for i := range counts {
		counts[i] = make([]int64, n)
	}
	micros := make([]*int64, n)
	for i := range in.Answers {
		u := &in.Answers[i]
		keys[i], models[i], at[i], micros[i] = u.Key, u.Model, u.At, u.Micros
		for j, v := range []int64{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning} {
			counts[j][i] = v
		}
	}
	a := in.Agent
	w.batch.Queue(insertUsage, storable(a.Runtime, a.ID, in.Read.Host, a.PersonaSlug(), a.PipelineID, keys, models, at,
		counts[0], counts[1], counts[2], counts[3], counts[4], micros)...)
}

// sources queues the inserts of what a change says about usage and budgets.
func (w *write) sources() {
	for _, r := range w.UsageReads {
		w.batch.Queue(insertUsageRead, storable(r.Host, r.Path, r.AgentID)...)
	}
	for _, m := range w.BudgetMarks {
		w.guarded("budget of "+m.Persona, insertBudgetMark, storable(m.Host, m.Persona, m.Day, string(m.Mark), m.Budget, w.at)...)
	}
}

const listUsageReads = `
	SELECT host, path, agent_id, read_to, model FROM usage_read WHERE host = $1 AND (agent_id = $2 OR path = ANY($3))
	ORDER BY path COLLATE "C"`

// UsageReads returns how far the sources of an agent were read, and those of the host with one of the paths.
func (db *logStore) UsageReads(ctx context.Context, host string, agentID int64, paths []string) ([]daemon.UsageRead, error) {
	return list[daemon.UsageRead](ctx, db, "what was read of usage", listUsageReads, storable(host, agentID, paths)...)
}

const sumUsage = `
	SELECT agent_id, persona, runtime, pipeline_id, width_bucket(at, $6::timestamptz[])::bigint AS day,
	       sum(input)::bigint AS input, sum(output)::bigint AS output, sum(cache_read)::bigint AS cache_read,
	       sum(cache_write)::bigint AS cache_write, sum(reasoning)::bigint AS reasoning, sum(cost_micros)::bigint AS micros
	FROM usage
	WHERE ($1::bigint[] = '{}' OR agent_id = ANY($1)) AND ($2 = '' OR persona = $2) AND ($3::bigint = 0 OR pipeline_id = $3)
	  AND ($4 = '' OR host = $4) AND at >= $5
	GROUP BY agent_id, persona, runtime, pipeline_id, day
	ORDER BY agent_id, persona COLLATE "C", runtime COLLATE "C", pipeline_id NULLS FIRST, day`

// UsageSums returns sums of answers.
func (db *logStore) UsageSums(ctx context.Context, q daemon.UsageQuery) ([]daemon.UsageSum, error) {
	return list[daemon.UsageSum](ctx, db, "usage", sumUsage, storable(notNil(q.AgentIDs), q.Persona, q.PipelineID, q.Host, q.Since, notNil(q.Days))...)
}

const listBudgetMarks = `
	SELECT host, persona, day::text AS day, mark, budget, at FROM budget_marks WHERE host = $1 AND day >= $2::text::date
	ORDER BY persona COLLATE "C", day, mark COLLATE "C", budget COLLATE "C"`

// BudgetMarks returns what was told and decided about a host's budgets since a day.
func (db *logStore) BudgetMarks(ctx context.Context, host, since string) ([]daemon.BudgetMark, error) {
	return list[daemon.BudgetMark](ctx, db, "budgets", listBudgetMarks, storetext.Text(host), since)
}
