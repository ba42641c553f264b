-- Where an agent works, what it was asked last, and whether the operator has seen what it has finished.

-- +goose Up

-- The defaults stay: daemons of the version before, on other hosts, write rows without these columns. unread: the agent has
-- finished its turn since the operator looked last. notify_finished: 'on', 'off', or '' for what its persona says.
ALTER TABLE agents
    ADD COLUMN asked text NOT NULL DEFAULT '',
    ADD COLUMN unread boolean NOT NULL DEFAULT false,
    ADD COLUMN finished_at timestamptz,
    ADD COLUMN notify_finished text NOT NULL DEFAULT '',
    ADD COLUMN repository text NOT NULL DEFAULT '',
    ADD COLUMN branch text NOT NULL DEFAULT '';

-- What a handoff lacks of what the roles of its successors require.
ALTER TABLE handoffs ADD COLUMN missing text[] NOT NULL DEFAULT '{}';

-- 'finished' is a notice that is wanted of one agent.
ALTER TABLE events
    DROP CONSTRAINT events_notice_known,
    ADD CONSTRAINT events_notice_known CHECK (notice IN ('', 'waiting', 'completed', 'finished'));

-- +goose Down

UPDATE events SET notice = '' WHERE notice = 'finished';
ALTER TABLE events
    DROP CONSTRAINT events_notice_known,
    ADD CONSTRAINT events_notice_known CHECK (notice IN ('', 'waiting', 'completed'));
ALTER TABLE handoffs DROP COLUMN missing;
ALTER TABLE agents
    DROP COLUMN asked, DROP COLUMN unread, DROP COLUMN finished_at, DROP COLUMN notify_finished, DROP COLUMN repository, DROP COLUMN branch;
