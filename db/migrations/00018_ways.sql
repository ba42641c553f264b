-- way is how a text is given to an agent whose runtime offers something better than its composer. A daemon that finds a
-- text on its way must know how it was sent. '': typed, which is all that the last release knows.

-- +goose Up

ALTER TABLE deliveries ADD COLUMN way text NOT NULL DEFAULT '';

-- +goose Down

ALTER TABLE deliveries DROP COLUMN way;
