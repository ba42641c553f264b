-- Where the session of an agent began, once it has moved to another directory, and the state in which the agent found that.

-- +goose Up

ALTER TABLE agents ADD COLUMN start_cwd text NOT NULL DEFAULT '', ADD COLUMN start_base jsonb;

-- +goose Down

ALTER TABLE agents DROP COLUMN start_cwd, DROP COLUMN start_base;
