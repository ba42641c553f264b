-- What the pictures of time are drawn from: the use of context windows over time, and the states of agents in the event log.

-- +goose Up

-- How full the context window of an agent was. A row is added when the use has changed noticeably.
CREATE TABLE context_samples (
    agent_id bigint      NOT NULL,
    at       timestamptz NOT NULL,
    tokens   bigint      NOT NULL,
    percent  double precision, -- NULL: the size of the window is not known
    CONSTRAINT context_samples_pkey PRIMARY KEY (agent_id, at),
    CONSTRAINT context_samples_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents (id) ON DELETE CASCADE
);
CREATE INDEX context_samples_at ON context_samples (at);

-- The states of one agent in order, from the index alone. The list of types is that of the statement that reads them.
CREATE INDEX events_states ON events (agent_id, at, id) INCLUDE (type) WHERE type IN (
    'agent_created', 'agent_starting', 'agent_idle', 'agent_working', 'agent_waiting', 'agent_limited', 'agent_ended');

-- +goose Down

DROP INDEX events_states;
DROP TABLE context_samples;
