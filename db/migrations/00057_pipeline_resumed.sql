-- When the daemon itself has resumed a pipeline that was interrupted; it does so once.

-- +goose Up

ALTER TABLE pipelines ADD COLUMN resumed_at timestamptz;

-- +goose Down

ALTER TABLE pipelines DROP COLUMN resumed_at;
