-- Who sent a message, for whom it was queued first, and whether a text was typed again; what becomes of the messages of an
-- agent that hands over, and whether a document is taken that says next to nothing.

-- +goose Up

-- The defaults stay: daemons of the version before, on other hosts, write rows without these columns. from_agent_id: the agent
-- that sent it; NULL: the operator or the daemon did. passed_from: the agent for which a message was queued that was passed on to
-- a successor. Neither references agents, for those may be pruned before the delivery.
ALTER TABLE deliveries
    ADD COLUMN from_agent_id bigint,
    ADD COLUMN passed_from bigint,
    ADD COLUMN typed_again boolean NOT NULL DEFAULT false;
CREATE INDEX deliveries_passed ON deliveries (passed_from, id) WHERE passed_from IS NOT NULL;

ALTER TABLE handoffs
    ADD COLUMN drop_messages boolean NOT NULL DEFAULT false,
    ADD COLUMN forced boolean NOT NULL DEFAULT false;

-- +goose Down

ALTER TABLE handoffs DROP COLUMN drop_messages, DROP COLUMN forced;
DROP INDEX deliveries_passed;
ALTER TABLE deliveries DROP COLUMN from_agent_id, DROP COLUMN passed_from, DROP COLUMN typed_again;
