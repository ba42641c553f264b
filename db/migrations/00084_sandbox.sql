-- sandbox says that an agent runs in a sandbox. A daemon of the last release does not know it, and starts agents without one.

-- +goose Up

ALTER TABLE agents ADD COLUMN sandbox boolean NOT NULL DEFAULT false;

-- +goose Down

ALTER TABLE agents DROP COLUMN sandbox;
