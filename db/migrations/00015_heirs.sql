-- To whom a handoff passes the work on: heirs with a persona, a runtime and a model of their own, one or several.

-- +goose Up

-- The defaults stay: daemons of the version before, on other hosts, write rows without these. model and permission_mode are
-- what the agent is launched with, if somebody chose that; '': as its persona, its options and its runtime say.
ALTER TABLE agents
    ADD COLUMN model text NOT NULL DEFAULT '',
    ADD COLUMN permission_mode text NOT NULL DEFAULT '';

-- keep: the outgoing agent lives on. In the phase briefing_heirs the heirs are started and briefed, before the outgoing
-- agent ends.
ALTER TABLE handoffs
    ADD COLUMN keep boolean NOT NULL DEFAULT false,
    DROP CONSTRAINT handoffs_phase_known,
    ADD CONSTRAINT handoffs_phase_known CHECK (phase IN (
        'requested', 'instructing', 'awaiting_document', 'generating', 'verifying', 'recorded', 'briefing_heirs',
        'shutting_down', 'spawning', 'awaiting_registration', 'injecting_skill', 'briefing',
        'completed', 'failed', 'cancelled'));

-- An agent hands over once. A handoff does not count if it left its agent alive: it was asked to keep the agent, or it
-- failed while it briefed the heirs.
DROP INDEX handoffs_one_per_agent;
CREATE UNIQUE INDEX handoffs_one_per_agent ON handoffs (agent_id)
    WHERE (phase NOT IN ('failed', 'cancelled') AND NOT (phase = 'completed' AND keep))
       OR (phase = 'failed' AND recorded_at IS NOT NULL AND (error ->> 'phase') IS DISTINCT FROM 'briefing_heirs');

-- The heirs of a handoff that names some. A handoff without rows has one successor, which is as the outgoing agent. The
-- row of the handoff guards those of its heirs. The daemon of the release before deletes handoffs and agents without
-- these rows, so the database does it.
CREATE TABLE handoff_heirs (
    handoff_id      bigint NOT NULL,
    position        integer NOT NULL,
    persona         text NOT NULL,
    runtime         text NOT NULL,
    model           text NOT NULL,
    permission_mode text NOT NULL,
    agent_id        bigint,
    phase           text NOT NULL, -- '': not started
    phase_at        timestamptz,
    deadline        timestamptz,
    note            text NOT NULL,
    delivery_id     bigint, -- the heir's injection prompt
    briefed_at      timestamptz,
    error           jsonb,
    CONSTRAINT handoff_heirs_pkey PRIMARY KEY (handoff_id, position),
    CONSTRAINT handoff_heirs_handoff_id_fkey FOREIGN KEY (handoff_id) REFERENCES handoffs (id) ON DELETE CASCADE,
    CONSTRAINT handoff_heirs_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents (id) ON DELETE SET NULL,
    CONSTRAINT handoff_heirs_phase_known CHECK (phase IN (
        '', 'spawning', 'awaiting_registration', 'injecting_skill', 'briefing', 'completed', 'failed'))
);
-- An agent is one heir of one handoff.
CREATE UNIQUE INDEX handoff_heirs_agent ON handoff_heirs (agent_id) WHERE agent_id IS NOT NULL;

-- +goose Down

-- A handoff that briefs its heirs cannot go on without their rows. Its record is kept.
UPDATE handoffs SET phase = 'failed', completed_at = now(),
    error = '{"phase": "recorded", "code": "aborted", "message": "The schema was taken back while the heirs were briefed."}'
    WHERE phase = 'briefing_heirs';
DROP TABLE handoff_heirs;
DROP INDEX handoffs_one_per_agent;
CREATE UNIQUE INDEX handoffs_one_per_agent ON handoffs (agent_id)
    WHERE phase NOT IN ('failed', 'cancelled') OR (phase = 'failed' AND recorded_at IS NOT NULL);
ALTER TABLE handoffs
    DROP COLUMN keep,
    DROP CONSTRAINT handoffs_phase_known,
    ADD CONSTRAINT handoffs_phase_known CHECK (phase IN (
        'requested', 'instructing', 'awaiting_document', 'generating', 'verifying', 'recorded', 'shutting_down',
        'spawning', 'awaiting_registration', 'injecting_skill', 'briefing',
        'completed', 'failed', 'cancelled'));
ALTER TABLE agents DROP COLUMN model, DROP COLUMN permission_mode;
