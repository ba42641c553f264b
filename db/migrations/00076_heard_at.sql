-- heard_at is when the hook of heard_hook was sent. A refusal before that is about an earlier attempt to submit the text. NULL: no hook has
-- told of the text, as the daemon of the last release leaves it.

-- +goose Up

ALTER TABLE deliveries ADD COLUMN heard_at timestamptz;

-- +goose Down

ALTER TABLE deliveries DROP COLUMN heard_at;
