-- What limit of usage an agent has hit, and what is done about it.

-- +goose Up

-- in_limit is the limit, from the turn that it ended to the next one that ends well. limited_until is when it ends, while the
-- agent is in the state limited. limit_tried_at is when the first turn after it began. The defaults stay: daemons of the
-- version before, on other hosts, write rows without these.
ALTER TABLE agents
    ADD COLUMN in_limit jsonb,
    ADD COLUMN limited_until timestamptz,
    ADD COLUMN limit_tried_at timestamptz,
    DROP CONSTRAINT agents_state_known,
    ADD CONSTRAINT agents_state_known CHECK (state IN ('starting', 'idle', 'working', 'waiting', 'limited', 'ended'));

-- go_on: the text that has an agent go on after a limit.
ALTER TABLE deliveries
    DROP CONSTRAINT deliveries_kind_known,
    ADD CONSTRAINT deliveries_kind_known CHECK (kind IN
        ('message', 'command', 'instruction', 'skill', 'prompt', 'exit', 'go_on'));

-- written_by is who wrote the document: agent, fork, fallback or daemon. '': it is not recorded yet, or a daemon of the
-- version before recorded it.
ALTER TABLE handoffs ADD COLUMN written_by text NOT NULL DEFAULT '';

-- +goose Down

ALTER TABLE handoffs DROP COLUMN written_by;
UPDATE deliveries SET kind = 'message' WHERE kind = 'go_on';
ALTER TABLE deliveries
    DROP CONSTRAINT deliveries_kind_known,
    ADD CONSTRAINT deliveries_kind_known CHECK (kind IN
        ('message', 'command', 'instruction', 'skill', 'prompt', 'exit'));
UPDATE agents SET state = 'idle' WHERE state = 'limited';
ALTER TABLE agents
    DROP COLUMN in_limit,
    DROP COLUMN limited_until,
    DROP COLUMN limit_tried_at,
    DROP CONSTRAINT agents_state_known,
    ADD CONSTRAINT agents_state_known CHECK (state IN ('starting', 'idle', 'working', 'waiting', 'ended'));
