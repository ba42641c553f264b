-- +goose Up

-- The size that an agent's pane is made with, and its successor's; 0 is the usual one.
ALTER TABLE agents
    ADD COLUMN pane_columns integer NOT NULL DEFAULT 0,
    ADD COLUMN pane_rows    integer NOT NULL DEFAULT 0;

-- +goose Down

ALTER TABLE agents DROP COLUMN pane_columns, DROP COLUMN pane_rows;
