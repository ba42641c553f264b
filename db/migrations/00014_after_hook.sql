-- A delivery knows the newest hook of its agent from before it was typed: what came after it is told by ids, and not by a
-- clock that somebody may have set. 0: not known, as the daemon of the last release leaves it.

-- +goose Up

ALTER TABLE deliveries ADD COLUMN after_hook bigint NOT NULL DEFAULT 0;

-- +goose Down

ALTER TABLE deliveries DROP COLUMN after_hook;
