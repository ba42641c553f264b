-- Agents whose runtime reports errors, and what several events came of.

-- +goose Up

-- in_trouble is {code, message, since} from a turn that ended in an error to the next one that did not; trouble is what
-- the newest turn ended in, in words. end_cause names what else ended of the same, such as the other agents of a tmux
-- server. The defaults stay: daemons of the version before, on other hosts, write rows without them.
ALTER TABLE agents
    ADD COLUMN in_trouble jsonb,
    ADD COLUMN end_cause text NOT NULL DEFAULT '';
UPDATE agents SET in_trouble = jsonb_build_object('code', 'runtime_error', 'message', trouble, 'since', state_at), last_message = ''
    WHERE trouble <> '' AND ended_at IS NULL;

-- The operator is told of events of one cause together.
ALTER TABLE events ADD COLUMN cause text NOT NULL DEFAULT '';

-- +goose Down

ALTER TABLE events DROP COLUMN cause;
ALTER TABLE agents DROP COLUMN in_trouble, DROP COLUMN end_cause;
