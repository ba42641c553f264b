-- What a step of a pipeline passes on beside its output: as a handoff between agents does.

-- +goose Up

-- The defaults stay: daemons of the version before, on other hosts, write rows without these.
ALTER TABLE step_handoffs
    ADD COLUMN warnings text[] NOT NULL DEFAULT '{}',
    ADD COLUMN context_checksum text,
    ADD COLUMN context_validated boolean NOT NULL DEFAULT false,
    ADD COLUMN metrics jsonb NOT NULL DEFAULT '{}';

-- The large part, which is read only when the next step's agent is launched or somebody asks for it. A daemon of the version
-- before deletes outputs without these rows, so the database does it.
CREATE TABLE step_records (
    step_handoff_id bigint NOT NULL,
    context         text NOT NULL,
    messages        jsonb NOT NULL,
    decisions       jsonb NOT NULL,
    refs            jsonb NOT NULL,
    CONSTRAINT step_records_pkey PRIMARY KEY (step_handoff_id),
    CONSTRAINT step_records_step_handoff_id_fkey FOREIGN KEY (step_handoff_id) REFERENCES step_handoffs (id) ON DELETE CASCADE
);

-- +goose Down

DROP TABLE step_records;
ALTER TABLE step_handoffs
    DROP COLUMN warnings,
    DROP COLUMN context_checksum,
    DROP COLUMN context_validated,
    DROP COLUMN metrics;
