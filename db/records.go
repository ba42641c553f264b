package db

import (
	"context"
	"fmt"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// recordColumns lists the columns that are written, in the order of [recordValues].
const recordColumns = `handoff_id, agent_id, agent, persona, document, context, messages, said, refs, progress, at, todos`

func recordValues(r *daemon.Record) []any {
	return storable(r.HandoffID, r.AgentID, r.Agent, r.Persona, r.Document, r.Context,
		notNil(r.Messages), len(r.Messages), notNil(r.References), r.Progress, r.At, notNil(r.Todos))
}

// notNil returns list, or an empty list if it is nil, because nil would be stored as null.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// decisionColumns lists the columns that are written, in the order of [decisionValues].
const decisionColumns = `handoff_id, position, agent_id, agent, persona, summary, rationale, at, related_artifacts`

func decisionValues(r *daemon.Record, position int, d data.Decision) []any {
	return storable(r.HandoffID, position, r.AgentID, d.Agent, r.Persona, d.Summary, d.Rationale, d.Timestamp,
		d.RelatedArtifacts)
}

// deleteRecord deletes a record; a foreign key deletes its decisions with it.
const deleteRecord = `DELETE FROM records WHERE handoff_id = $1`

var (
	insertRecord   = `INSERT INTO records (` + recordColumns + `) VALUES (` + placeholders(recordColumns) + `)`
	insertDecision = `INSERT INTO decisions (` + decisionColumns + `) VALUES (` + placeholders(decisionColumns) + `)`
)

// record queues the writes that replace the record of a handoff. The guarded update of the handoff (see move) stands
// before them in the batch. It locks the handoff, or fails with ErrMoved if another writer changed the handoff first.
func (w *write) record(r *daemon.Record) {
	w.batch.Queue(deleteRecord, r.HandoffID)
	w.batch.Queue(insertRecord, recordValues(r)...)
	for i, d := range r.Decisions {
		w.batch.Queue(insertDecision, decisionValues(r, i, d)...)
	}
}

// recordFields are the fields that each read of a record selects. It writes the times inside JSON in UTC and with a
// "Z", even if the session has another time zone, so that Go can parse them.
const recordFields = `records.handoff_id, records.agent_id, records.agent, records.persona,
	records.refs AS "references", records.progress, records.at, records.todos,
	(SELECT COALESCE(jsonb_agg(jsonb_build_object(
			'agent', agent, 'summary', summary, 'rationale', rationale,
			'timestamp', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
			'related_artifacts', related_artifacts) ORDER BY position), '[]')
		FROM decisions WHERE decisions.handoff_id = records.handoff_id) AS decisions`

const selectRecord = `SELECT ` + recordFields + `, messages, document, context FROM records WHERE handoff_id = $1`

// Record returns a handoff's record. If the handoff has none, the error is [daemon.ErrNotFound].
func (db *rowStore) Record(ctx context.Context, handoffID int64) (daemon.Record, error) {
	return one[daemon.Record](ctx, db, fmt.Sprintf("record of handoff %d", handoffID), selectRecord, handoffID)
}

// listLineRecords walks from predecessor to predecessor, at most 1000 times. The limit also ends the walk if somebody
// edited rows so that they form a circle. Each agent of a circle then counts at the smallest step that reached it.
const listLineRecords = `
	WITH RECURSIVE before (agent_id, step) AS (
		SELECT previous_agent_id, 1 FROM agents WHERE id = $1
		UNION ALL
		SELECT agents.previous_agent_id, before.step + 1
		FROM before JOIN agents ON agents.id = before.agent_id
		WHERE before.step < 1000
	), line AS (
		SELECT agent_id, min(step) AS step FROM before WHERE agent_id <> $1 GROUP BY agent_id
	)
	SELECT ` + recordFields + `, '' AS document, '' AS context,
		CASE WHEN sum(said) OVER newer - said < $3 AND sum(size) OVER newer - size < $4
			THEN messages ELSE '[]' END AS messages
	FROM line CROSS JOIN LATERAL (
		SELECT *, pg_column_size(messages)::bigint AS size
		FROM records WHERE records.agent_id = line.agent_id ORDER BY handoff_id DESC LIMIT 1
	) AS records
	WINDOW newer AS (ORDER BY line.step)
	ORDER BY line.step LIMIT $2`

// LineRecords returns the newest record of each agent before q.AgentID in its line, without Document and Context. The
// record of the direct predecessor comes first; there are at most q.Limit records (0: 100). LineRecords looks back
// over 1000 agents. It counts messages by their stored, compressed size, so it may return somewhat more than
// q.MessageBytes.
func (db *rowStore) LineRecords(ctx context.Context, q daemon.LineQuery) ([]daemon.Record, error) {
	return list[daemon.Record](ctx, db, fmt.Sprintf("records before agent %d", q.AgentID), listLineRecords,
		q.AgentID, limitOr(q.Limit, 100), q.Messages, q.MessageBytes)
}

// listLineHandoffs walks to the predecessors and to the successors. UNION keeps each agent one time, so the walk also
// ends in a circle. The ids are in an array, because the planner overestimates the length of lines: with a join it
// would read all handoffs.
const listLineHandoffs = `
	WITH RECURSIVE before (id, previous_agent_id) AS (
		SELECT id, previous_agent_id FROM agents WHERE id = $1
		UNION
		SELECT agents.id, agents.previous_agent_id
		FROM before JOIN agents ON agents.id = before.previous_agent_id
	), after (id) AS (
		SELECT $1::bigint
		UNION
		SELECT agents.id FROM after JOIN agents ON agents.previous_agent_id = after.id
	)
	` + selectHandoffs + `
	WHERE agent_id = ANY(ARRAY(SELECT id FROM before UNION SELECT id FROM after))
	ORDER BY id DESC LIMIT $2`

// LineHandoffs returns the handoffs of an agent, of its predecessors and of its successors, the newest
// first; at most limit (0: 100).
func (db *rowStore) LineHandoffs(ctx context.Context, agentID int64, limit int) ([]daemon.Handoff, error) {
	return list[daemon.Handoff](ctx, db, fmt.Sprintf("handoffs along the line of agent %d", agentID), listLineHandoffs,
		agentID, limitOr(limit, 100))
}
