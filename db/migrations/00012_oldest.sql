-- Which daemons may work with the schema. Each schema works with the daemon of the release before it.

-- +goose Up

-- oldest is a migration: a daemon that knows this one, and those before it, may work with the schema although it does not
-- know the newest. A release whose schema the release before the last can't work with raises it.
CREATE TABLE schema_oldest (
    only_one boolean NOT NULL DEFAULT true,
    oldest   bigint NOT NULL,
    CONSTRAINT schema_oldest_pkey PRIMARY KEY (only_one),
    CONSTRAINT schema_oldest_only_one CHECK (only_one)
);
INSERT INTO schema_oldest (oldest) VALUES (11);

-- +goose Down

DROP TABLE schema_oldest;
