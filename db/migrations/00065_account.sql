-- The account of the session that a person started, without its secrets: its agent's successors have the same one.

-- +goose Up

ALTER TABLE agents ADD COLUMN account jsonb;

-- +goose Down

ALTER TABLE agents DROP COLUMN account;
