-- What runs beside the turns of an agent, as its last Stop has told: tasks and scheduled prompts.

-- +goose Up

ALTER TABLE agents ADD COLUMN background jsonb;

-- +goose Down

ALTER TABLE agents DROP COLUMN background;
