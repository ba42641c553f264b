-- What an agent meets before its session.

-- +goose Up

-- answered_at is when the last dialog before its session was answered: its deadlines count from there.
-- first_prompt_id is the delivery of the prompt that it was started with.
ALTER TABLE agents
    ADD COLUMN answered_at timestamptz,
    ADD COLUMN first_prompt_id bigint;

-- +goose Down

ALTER TABLE agents DROP COLUMN answered_at, DROP COLUMN first_prompt_id;
