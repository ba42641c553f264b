-- after_hook is the agent's newest hook before the delivery was typed. The daemon tells later hooks by their ids, not by a
-- clock that somebody may have set. 0: not known, as the daemon of the last release leaves it.

-- +goose Up

ALTER TABLE deliveries ADD COLUMN after_hook bigint NOT NULL DEFAULT 0;

-- +goose Down

ALTER TABLE deliveries DROP COLUMN after_hook;
