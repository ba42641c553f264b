-- When the Stop of an agent's turn came, until its runtime rests: another hook may have blocked that Stop.

-- +goose Up

ALTER TABLE agents ADD COLUMN stop_came_at timestamptz;

-- +goose Down

ALTER TABLE agents DROP COLUMN stop_came_at;
