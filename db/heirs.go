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
		'briefed_at', to_char(h.briefed_at` + inUTC + `) || ` + onlyHeir + ` ORDER BY h.position),
		jsonb_build_array(jsonb_build_object('persona', handoffs.persona) || ` + onlyHeir + `))
	FROM handoff_heirs h WHERE h.handoff_id = handoffs.id) AS heirs`

// onlyHeir is what the row of a handoff says of its only heir, whose phases are those of the handoff. The daemon of the last
// release, on another host or before the upgrade, knows no rows of heirs and writes it there alone. When the last release is one
// that writes the rows, it can go, as well as the repetition by [daemon.Handoff].
const onlyHeir = `CASE WHEN handoffs.successor_id IS NULL OR handoffs.keep
		OR EXISTS (SELECT FROM handoff_heirs o WHERE o.handoff_id = handoffs.id AND o.position > 0) THEN '{}'
	ELSE jsonb_build_object('agent_id', handoffs.successor_id, 'phase', handoffs.phase, 'delivery_id', handoffs.delivery_id,
		'phase_at', to_char(handoffs.phase_at` + inUTC + `,
		'briefed_at', CASE WHEN handoffs.phase = 'completed' THEN to_char(handoffs.phase_at` + inUTC + ` END) END`

// writeHeir writes the row of one heir, if this very transaction has written its handoff's row: a writer that came too late for that holds
// no lock of it, and must wait for no row of an heir either. A handoff keeps as many heirs as it began with.
var writeHeir = `INSERT INTO handoff_heirs (` + heirColumns + `) SELECT ` + placeholders(heirColumns) + `
	WHERE EXISTS (SELECT FROM handoffs WHERE id = $1 AND xmin = pg_current_xact_id()::xid)
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
