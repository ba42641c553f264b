-- The state in which an agent found its working directory: what has changed since counts from it.

-- +goose Up

ALTER TABLE agents ADD COLUMN base jsonb;

-- +goose Down

ALTER TABLE agents DROP COLUMN base;
