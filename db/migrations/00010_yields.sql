-- +goose Up

-- A handoff that asks its agent to exit takes that back when the agent was given work meanwhile.
ALTER TABLE agents ADD COLUMN stop_yields boolean NOT NULL DEFAULT false;

-- +goose Down

ALTER TABLE agents DROP COLUMN stop_yields;
