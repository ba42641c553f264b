-- What a handoff passes on beside its document: the open todos of the outgoing session, and its thinking level.

-- +goose Up

-- The defaults stay: daemons of the version before, on other hosts, write rows without these columns.
ALTER TABLE records ADD COLUMN todos jsonb NOT NULL DEFAULT '[]';
ALTER TABLE agents ADD COLUMN effort text NOT NULL DEFAULT '';

-- +goose Down

ALTER TABLE agents DROP COLUMN effort;
ALTER TABLE records DROP COLUMN todos;
