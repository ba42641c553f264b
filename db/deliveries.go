package db

import (
	"context"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// deliveryColumns lists the columns in the order of [deliveryValues].
const deliveryColumns = `id, agent_id, handoff_id, kind, text, nonce, state, verdict, attempts,
	evidence, created_at, typed_at, decided_at, rev, hook_key, after_hook, heard_hook, heard_at, way,
	from_agent_id, passed_from, typed_again, evidence_code`

func deliveryValues(d *daemon.Delivery) []any {
	return storable(d.ID, d.AgentID, d.HandoffID, d.Kind, d.Text, d.Nonce, d.State, d.Verdict, d.Attempts,
		d.Evidence, d.CreatedAt, d.TypedAt, d.DecidedAt, d.Rev, d.HookKey, d.AfterHook, d.Heard, d.HeardAt, d.Way,
		d.FromAgentID, d.PassedFrom, d.TypedAgain, d.EvidenceCode)
}

const selectDeliveries = `SELECT ` + deliveryColumns + ` FROM deliveries `

var insertDelivery = `INSERT INTO deliveries (` + deliveryColumns + `)
	VALUES (` + placeholders(deliveryColumns) + `)`

// updateDelivery takes, after the columns, the rev with which the row was read.
var updateDelivery = fmt.Sprintf(`UPDATE deliveries SET (%s) = ROW(%s) WHERE id = $1 AND rev = $%d`,
	deliveryColumns, placeholders(deliveryColumns), count(deliveryColumns)+1)

// lockDeliveries locks all deliveries that a change writes or drops. One statement locks both kinds, so that all are
// locked in the order of their ids.
const lockDeliveries = `SELECT id FROM deliveries
	WHERE id = ANY($1) OR (agent_id = $2 AND state = 'queued')
	ORDER BY id FOR NO KEY UPDATE`

// dropQueued drops an agent's queued deliveries, without its messages if $5 is true. It leaves rows that another writer has
// locked. Such a row was inserted after lockDeliveries ran, so it need not be dropped, and waiting for it would take locks out
// of order.
const dropQueued = `WITH free AS MATERIALIZED (
		SELECT id FROM deliveries WHERE agent_id = $1 AND state = 'queued' AND NOT ($5 AND kind = 'message')
		FOR NO KEY UPDATE SKIP LOCKED)
	UPDATE deliveries
	SET state = 'done', verdict = 'not_submitted', evidence_code = $2, evidence = $3, decided_at = $4, rev = rev + 1
	WHERE id IN (SELECT id FROM free)`

const selectDelivery = selectDeliveries + `WHERE id = $1`

// Delivery returns the delivery with this id. If there is none, the error is [daemon.ErrNotFound].
func (db *rowStore) Delivery(ctx context.Context, id int64) (daemon.Delivery, error) {
	return one[daemon.Delivery](ctx, db, fmt.Sprintf("delivery %d", id), selectDelivery, id)
}

const listDeliveries = selectDeliveries + `
	WHERE (agent_id = $1 OR passed_from = $1) AND ($2::bigint = 0 OR id < $2) ORDER BY id DESC LIMIT $3`

// Deliveries lists an agent's deliveries, and those that it has passed on, the newest first: those with an id below before
// (0: all), at most limit (0: 100).
func (db *rowStore) Deliveries(ctx context.Context, agentID, before int64, limit int) ([]daemon.Delivery, error) {
	return list[daemon.Delivery](ctx, db, fmt.Sprintf("deliveries of agent %d", agentID),
		listDeliveries, agentID, before, limitOr(limit, 100))
}

const listOpenDeliveries = selectDeliveries + `WHERE agent_id = $1 AND state <> 'done' ORDER BY id`

// OpenDeliveries lists an agent's deliveries that have no verdict, the oldest first.
func (db *rowStore) OpenDeliveries(ctx context.Context, agentID int64) ([]daemon.Delivery, error) {
	return list[daemon.Delivery](ctx, db, fmt.Sprintf("open deliveries of agent %d", agentID), listOpenDeliveries, agentID)
}

// countSent counts events, because only the event log says which agent sent a message.
const countSent = `
	SELECT count(*) FILTER (WHERE d.state <> 'done') AS open,
	       count(*) FILTER (WHERE e.at > $2) AS recent,
	       min(e.at) FILTER (WHERE e.at > $2) AS first
	FROM events e LEFT JOIN deliveries d ON d.id = (e.payload->>'delivery_id')::bigint
	WHERE e.agent_id = $1 AND e.type = 'agent_messaged'`

// Sent counts the messages that an agent has sent to other agents. It does not count messages whose events were pruned.
func (db *rowStore) Sent(ctx context.Context, agentID int64, since time.Time) (daemon.Sent, error) {
	return one[daemon.Sent](ctx, db, fmt.Sprintf("messages sent by agent %d", agentID), countSent, agentID, since)
}
