-- Which daemons may work with the schema. Each schema works with the daemon of the release before it.

-- +goose Up

-- oldest is a migration's number. A daemon that knows this migration and those before it may work with the schema, even
-- if it does not know the newest. A release raises oldest when the release before the last cannot work with its schema.
CREATE TABLE schema_oldest (
    only_one boolean NOT NULL DEFAULT true,
    oldest   bigint NOT NULL,
    CONSTRAINT schema_oldest_pkey PRIMARY KEY (only_one),
    CONSTRAINT schema_oldest_only_one CHECK (only_one)
);
INSERT INTO schema_oldest (oldest) VALUES (11);

-- +goose Down

DROP TABLE schema_oldest;
