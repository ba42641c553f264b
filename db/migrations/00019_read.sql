-- Whether a successor has read the document and the context of its handoff.

-- +goose Up

-- reading is set while the daemon looks for that in the agent's transcript. read_at is when the transcript showed it, unread_at
-- when the agent's first turn had ended without it. The defaults stay: daemons of the version before, on other hosts, write
-- rows without these.
ALTER TABLE agents
    ADD COLUMN reading boolean NOT NULL DEFAULT false,
    ADD COLUMN read_at timestamptz,
    ADD COLUMN unread_at timestamptz;
-- Each second the daemon asks for the ended agents of which this is still to be decided.
CREATE INDEX agents_ended_reading ON agents (host) WHERE reading AND ended_at IS NOT NULL;

-- +goose Down

DROP INDEX agents_ended_reading;
ALTER TABLE agents DROP COLUMN reading, DROP COLUMN read_at, DROP COLUMN unread_at;
