package db

import (
	"context"
	"fmt"
	"math"

	"github.com/understudyd/understudy/daemon"
)

// handoffColumns lists the columns that are written, in the order of [handoffValues].
const handoffColumns = columnsToMetrics + `metrics` + columnsFromMetrics

const (
	columnsToMetrics = `id, ref, agent_id, persona, successor_id, reason, focus, mode, phase, note, hold,
	file_path, context_path, injection_prompt, structured, recorded_at, generation, context_use,
	source_agent, target_agent, degraded, context_checksum, context_validated, warnings, `
	columnsFromMetrics = `,
	error, created_at, started_at, completed_at, host, seq, phase_at, deadline, delivery_id, trouble,
	retrying, forked_at, confirmed, prompt_id, prompt_queue, stop_hook, keep, written_by, missing,
	drop_messages, forced, in_place`
)

// handoffValues keeps the structured fields as those of a step's output: one that the document lacks is absent, and not null.
func handoffValues(h *daemon.Handoff) []any {
	return storable(h.ID, h.Ref, h.AgentID, h.Persona, h.SuccessorID, h.Reason, h.Focus, string(h.Mode), h.Phase, h.Note, h.Hold,
		h.FilePath, h.ContextPath, h.InjectionPrompt, (*daemon.Metadata)(h.Structured), h.RecordedAt, h.Generation, h.ContextUse,
		h.SourceAgent, h.TargetAgent, h.Degraded, h.ContextChecksum, h.ContextValidated, h.Warnings, metricsValue(h.Metrics),
		h.Error, h.CreatedAt, h.StartedAt, h.CompletedAt, h.Host, h.Seq, h.PhaseAt, h.Deadline, h.DeliveryID, h.Trouble,
		h.Retrying, h.ForkedAt, h.Confirmed, h.PromptID, h.PromptQueue, h.StopHook, h.Keep, h.WrittenBy, h.Missing,
		h.DropMessages, h.Forced, h.InPlace)
}

// storedMetrics are [daemon.Metrics] as the database stores them. A daemon of the release before reads duration_ms as an
// integer, so the fraction is in a field of its own.
type storedMetrics struct {
	daemon.Metrics

	DurationMS int64 `json:"duration_ms"`
	DurationUS int64 `json:"duration_us"`
}

func metricsValue(m daemon.Metrics) storedMetrics {
	us := int64(math.Round(m.DurationMS * 1000))
	return storedMetrics{Metrics: m, DurationMS: us / 1000, DurationUS: us}
}

// handoffMetrics reads what [storedMetrics] stores.
const handoffMetrics = `(CASE WHEN metrics ? 'duration_us'
	THEN metrics || jsonb_build_object('duration_ms', (metrics->>'duration_us')::numeric / 1000) ELSE metrics END) AS metrics`

// selectHandoffs reads whole handoffs, with the status that the database derives from the phase.
const selectHandoffs = `SELECT ` + columnsToMetrics + handoffMetrics + columnsFromMetrics + `, status, ` + handoffHeirs + ` FROM handoffs `

var insertHandoff = `INSERT INTO handoffs (` + handoffColumns + `)
	VALUES (` + placeholders(handoffColumns) + `) RETURNING status`

// updateHandoff takes, after the columns, the phase and the seq with which the row was read.
var updateHandoff = fmt.Sprintf(
	`UPDATE handoffs SET (%s) = ROW(%s) WHERE id = $1 AND phase = $%d AND seq = $%d RETURNING status`,
	handoffColumns, placeholders(handoffColumns), count(handoffColumns)+1, count(handoffColumns)+2)

const selectHandoff = selectHandoffs + `WHERE id = $1`

// Handoff returns the handoff with this id. If there is none, the error is [daemon.ErrNotFound].
func (db *rowStore) Handoff(ctx context.Context, id int64) (daemon.Handoff, error) {
	return one[daemon.Handoff](ctx, db, fmt.Sprintf("handoff %d", id), selectHandoff, id)
}

const listHandoffs = selectHandoffs + `
	WHERE ($1::bigint = 0 OR agent_id = $1)
	  AND ($2::bigint = 0 OR successor_id = $2 OR id = (SELECT handoff_id FROM handoff_heirs WHERE agent_id = $2))
	  AND ($3 = '' OR persona = $3)
	  AND ($4 = '' OR status = $4)
	  AND ($5 = '' OR host = $5)
	  AND (NOT $6 OR phase NOT IN ('completed', 'failed', 'cancelled'))
	  AND ($7::bigint = 0 OR id < $7)
	  AND (NOT $8 OR NOT EXISTS (SELECT FROM handoffs later WHERE later.agent_id = handoffs.agent_id AND later.id > handoffs.id))
	ORDER BY id DESC LIMIT $9`

// Handoffs lists handoffs, the newest first.
func (db *rowStore) Handoffs(ctx context.Context, f daemon.HandoffFilter) ([]daemon.Handoff, error) {
	return list[daemon.Handoff](ctx, db, "list of handoffs", listHandoffs,
		storable(f.AgentID, f.SuccessorID, f.Persona, string(f.Status), f.Host, f.Open, f.Before, f.Last, limitOr(f.Limit, 100))...)
}

const insertTransition = `INSERT INTO transitions (handoff_id, seq, from_phase, to_phase, cause, at)
	VALUES ($1, $2, $3, $4, $5, $6)`

const listTransitions = `SELECT handoff_id, seq, from_phase AS "from", to_phase AS "to", cause, at
	FROM transitions WHERE handoff_id = $1 ORDER BY seq`

// Transitions returns a handoff's transitions in order. If the id is unknown, the list is empty.
func (db *rowStore) Transitions(ctx context.Context, handoffID int64) ([]daemon.Transition, error) {
	return list[daemon.Transition](ctx, db, fmt.Sprintf("transitions of handoff %d", handoffID), listTransitions, handoffID)
}
