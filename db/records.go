package db

import (
	"context"
	"fmt"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// recordColumns lists the columns that are written, in the order of [recordValues].
const recordColumns = `handoff_id, agent_id, agent, persona, document, context, messages, said, refs, progress, at`

func recordValues(r *daemon.Record) []any {
	return storable(r.HandoffID, r.AgentID, r.Agent, r.Persona, r.Document, r.Context,
		notNil(r.Messages), len(r.Messages), notNil(r.References), r.Progress, r.At)
}

// notNil replaces a nil list by an empty one, because nil would be stored as null.
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

// record queues the writes that replace the record of a handoff. The change's move has locked the
// handoff before, and has failed with ErrMoved if another writer was first.
func (w *write) record(r *daemon.Record) {
	w.batch.Queue(deleteRecord, r.HandoffID)
	w.batch.Queue(insertRecord, recordValues(r)...)
	for i, d := range r.Decisions {
		w.batch.Queue(insertDecision, decisionValues(r, i, d)...)
	}
}

// recordFields are the fields that each read of a record selects. Times inside JSON are in UTC,
// whatever the session's time zone is, so that they can be parsed.
const recordFields = `records.handoff_id, records.agent_id, records.agent, records.persona,
	records.refs AS "references", records.progress, records.at,
	(SELECT COALESCE(jsonb_agg(jsonb_build_object(
			'agent', agent, 'summary', summary, 'rationale', rationale,
			'timestamp', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
			'related_artifacts', related_artifacts) ORDER BY position), '[]')
		FROM decisions WHERE decisions.handoff_id = records.handoff_id) AS decisions`

const selectRecord = `SELECT ` + recordFields + `, messages, document, context FROM records WHERE handoff_id = $1`

// Record returns a handoff's record; [daemon.ErrNotFound] if the handoff has none.
func (db *DB) Record(ctx context.Context, handoffID int64) (daemon.Record, error) {
	return one[daemon.Record](ctx, db, fmt.Sprintf("record of handoff %d", handoffID), selectRecord, handoffID)
}

// listLineRecords walks from predecessor to predecessor. The bound of 1000 also ends the walk if rows
// that somebody edited form a circle; each agent of a circle then counts at the step that met it first.
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

// LineRecords returns the records of the agents before q.AgentID in its line, that of its predecessor
// first, without Document and Context; at most q.Limit (0: 100). It looks back over 1000 agents, and reads
// the newest record of each. It counts messages by their stored, compressed size, so it may return
// somewhat more than q.MessageBytes.
func (db *DB) LineRecords(ctx context.Context, q daemon.LineQuery) ([]daemon.Record, error) {
	return list[daemon.Record](ctx, db, fmt.Sprintf("records before agent %d", q.AgentID), listLineRecords,
		q.AgentID, limitOr(q.Limit, 100), q.Messages, q.MessageBytes)
}

// listLineHandoffs walks both ways. UNION meets each agent once, even in a circle. The ids are put into
// an array, because the planner overestimates the length of lines and would join with all handoffs.
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
func (db *DB) LineHandoffs(ctx context.Context, agentID int64, limit int) ([]daemon.Handoff, error) {
	return list[daemon.Handoff](ctx, db, fmt.Sprintf("handoffs along the line of agent %d", agentID), listLineHandoffs,
		agentID, limitOr(limit, 100))
}
