package db

import "github.com/understudyd/understudy/daemon"

// heirColumns lists the columns that are written, in the order of [heirValues].
const heirColumns = `handoff_id, position, persona, runtime, model, permission_mode, agent_id, phase, phase_at, deadline,
	note, hold, delivery_id, briefed_at, error`

func heirValues(h *daemon.Handoff, position int) []any {
	heir := &h.Heirs[position]
	return storable(h.ID, position, heir.Persona, heir.Runtime, heir.Model, heir.PermissionMode, heir.AgentID, string(heir.Phase),
		heir.PhaseAt, heir.Deadline, heir.Note, heir.Hold, heir.DeliveryID, heir.BriefedAt, heir.Error)
}

// inUTC ends a call of to_char that writes a time for JSON in UTC and with a "Z", even if the session has another time
// zone, so that Go can parse it.
const inUTC = ` AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

// handoffHeirs is the column with the heirs of a handoff, in order.
const handoffHeirs = `(SELECT COALESCE(jsonb_agg(jsonb_build_object(
		'persona', h.persona, 'runtime', h.runtime, 'model', h.model, 'permission_mode', h.permission_mode,
		'agent_id', h.agent_id, 'phase', h.phase, 'note', h.note, 'hold', h.hold, 'delivery_id', h.delivery_id, 'error', h.error,
		'phase_at', to_char(h.phase_at` + inUTC + `, 'deadline', to_char(h.deadline` + inUTC + `,
		'briefed_at', to_char(h.briefed_at` + inUTC + `) ORDER BY h.position), '[]')
	FROM handoff_heirs h WHERE h.handoff_id = handoffs.id) AS heirs`

// writeHeir writes the row of one heir. A handoff keeps as many heirs as it began with.
var writeHeir = `INSERT INTO handoff_heirs (` + heirColumns + `) VALUES (` + placeholders(heirColumns) + `)
	ON CONFLICT ON CONSTRAINT handoff_heirs_pkey DO UPDATE SET
		persona = EXCLUDED.persona, runtime = EXCLUDED.runtime, model = EXCLUDED.model,
		permission_mode = EXCLUDED.permission_mode, agent_id = EXCLUDED.agent_id, phase = EXCLUDED.phase,
		phase_at = EXCLUDED.phase_at, deadline = EXCLUDED.deadline, note = EXCLUDED.note, hold = EXCLUDED.hold,
		delivery_id = EXCLUDED.delivery_id, briefed_at = EXCLUDED.briefed_at, error = EXCLUDED.error`

// heirs queues the writes of a handoff's heirs. The handoff's own write stands before them in the batch, and guards them.
func (w *write) heirs(h *daemon.Handoff) {
	for i := range h.Heirs {
		w.batch.Queue(writeHeir, heirValues(h, i)...)
	}
}
