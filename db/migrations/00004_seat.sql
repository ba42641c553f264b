-- What the operator sees of an agent at a glance, and is told of.

-- +goose Up

-- waits_for is what an agent in state waiting asks of a person, last_message how its last answer began.
ALTER TABLE agents
    ADD COLUMN state_at timestamptz,
    ADD COLUMN waits_for text NOT NULL DEFAULT '',
    ADD COLUMN last_message text NOT NULL DEFAULT '';
UPDATE agents SET state_at = COALESCE(ended_at, registered_at, created_at);
ALTER TABLE agents ALTER COLUMN state_at SET NOT NULL;

-- An alert is told always, a notice if the operator of the host wants notices of its kind.
ALTER TABLE events
    ADD COLUMN notice text NOT NULL DEFAULT '',
    ADD CONSTRAINT events_notice_known CHECK (notice IN ('', 'waiting', 'completed'));
DROP INDEX events_pending_alerts;
CREATE INDEX events_untold ON events (host, id) WHERE (alert OR notice <> '') AND alerted_at IS NULL;

-- The log is kept for a time, and hooks with it.
CREATE INDEX events_at ON events (at);
CREATE INDEX hook_events_received ON hook_events (received_at);

-- How far the log has been pruned: up to this event, some may be missing.
CREATE TABLE log_floor (
    only_one  boolean NOT NULL DEFAULT true,
    pruned_to bigint NOT NULL,
    CONSTRAINT log_floor_pkey PRIMARY KEY (only_one),
    CONSTRAINT log_floor_only_one CHECK (only_one)
);
INSERT INTO log_floor (pruned_to) VALUES (0);

CREATE TABLE notification_preferences (
    host       text NOT NULL,
    waiting    boolean NOT NULL,
    completed  boolean NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT notification_preferences_pkey PRIMARY KEY (host)
);

-- +goose Down

DROP TABLE notification_preferences;
DROP TABLE log_floor;
DROP INDEX hook_events_received;
DROP INDEX events_at;
DROP INDEX events_untold;
CREATE INDEX events_pending_alerts ON events (host, id) WHERE alert AND alerted_at IS NULL;
ALTER TABLE events DROP COLUMN notice;
ALTER TABLE agents DROP COLUMN state_at, DROP COLUMN waits_for, DROP COLUMN last_message;
