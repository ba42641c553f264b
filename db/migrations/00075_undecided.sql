-- Verdicts that the rules of a step cannot read.

-- +goose Up

-- otherwise is 'stop' if a person decides where no rule of the step applies. undecided says why a person must choose the step that
-- comes after this one; '': nobody must. A daemon of the last release leaves both as they are and goes on to the following step;
-- then the question is over, because that step has begun.
ALTER TABLE steps
    ADD COLUMN otherwise text NOT NULL DEFAULT '',
    ADD COLUMN undecided text NOT NULL DEFAULT '';

-- +goose Down

ALTER TABLE steps
    DROP COLUMN otherwise,
    DROP COLUMN undecided;
