-- end_code is why an agent has ended, by which daemons decide. end_reason says the same with what is known besides, and is still written: a
-- daemon of the last release decides by it, and writes no code. daemon/hold_old.go reads that. Reasons that a runtime gives are codes, too.

-- +goose Up

ALTER TABLE agents ADD COLUMN end_code text NOT NULL DEFAULT '';

UPDATE agents SET end_code = CASE
    WHEN end_reason LIKE 'not started: %' THEN 'not_started'
    ELSE split_part(end_reason, '; its pane shows ', 1) END
WHERE end_reason IS NOT NULL;

-- +goose Down

ALTER TABLE agents DROP COLUMN end_code;
