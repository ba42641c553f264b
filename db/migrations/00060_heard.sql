-- heard_hook is the hook by which the runtime told of a typed prompt. Another hook may still refuse the prompt, so that hook alone
-- is no verdict. 0: no hook has told of it, as the daemon of the last release leaves it.

-- +goose Up

ALTER TABLE deliveries ADD COLUMN heard_hook bigint NOT NULL DEFAULT 0;

-- +goose Down

ALTER TABLE deliveries DROP COLUMN heard_hook;
