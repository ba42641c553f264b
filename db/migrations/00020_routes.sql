-- Routing between the steps of a pipeline: rules that a step has, and the edges that were taken.

-- +goose Up

-- number is the step's number in the template, from 1. 0: as order_index says, which is all that the last release knows. A step
-- that the work comes back to has a row for each round. came_from is the step whose end led to this one, and came_by the rule
-- that did; '': the order of the steps. The defaults stay: daemons of the version before write rows without these.
ALTER TABLE steps
    ADD COLUMN number integer NOT NULL DEFAULT 0,
    ADD COLUMN round integer NOT NULL DEFAULT 1,
    ADD COLUMN next jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN max_rounds integer NOT NULL DEFAULT 0,
    ADD COLUMN came_from bigint,
    ADD COLUMN came_by text NOT NULL DEFAULT '',
    -- A step leads on once.
    ADD CONSTRAINT steps_came_from_key UNIQUE (came_from),
    ADD CONSTRAINT steps_came_from_fkey FOREIGN KEY (came_from) REFERENCES steps (id);

-- +goose Down

ALTER TABLE steps
    DROP COLUMN number,
    DROP COLUMN round,
    DROP COLUMN next,
    DROP COLUMN max_rounds,
    DROP COLUMN came_from,
    DROP COLUMN came_by;
