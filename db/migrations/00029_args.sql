-- What the operator has added to the command line of an agent.

-- +goose Up

ALTER TABLE agents ADD COLUMN args text[] NOT NULL DEFAULT '{}';

-- +goose Down

ALTER TABLE agents DROP COLUMN args;
