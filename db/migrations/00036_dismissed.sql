-- When the operator said of an agent that died that they have seen it.

-- +goose Up

ALTER TABLE agents ADD COLUMN dismissed_at timestamptz;

-- +goose Down

ALTER TABLE agents DROP COLUMN dismissed_at;
