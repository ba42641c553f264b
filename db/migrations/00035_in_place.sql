-- A handoff in place: the successor takes the very pane of the outgoing agent.

-- +goose Up

-- The default stays: daemons of the version before, on other hosts, write rows without it.
ALTER TABLE handoffs ADD COLUMN in_place boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE handoffs DROP COLUMN in_place;
