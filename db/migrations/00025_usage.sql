-- What agents have used: the tokens of each answer of a model and their cost, and the budgets of personas.

-- +goose Up

-- One row for each answer, under the key that its runtime gives it, so that an answer that is read again counts once.
CREATE TABLE usage (
    runtime     text        NOT NULL,
    key         text        NOT NULL,
    agent_id    bigint      NOT NULL,
    host        text        NOT NULL,
    persona     text        NOT NULL, -- '': none
    pipeline_id bigint,               -- of the agent when the answer was counted; no reference, for runs are deleted before agents
    model       text        NOT NULL, -- '': not told
    at          timestamptz NOT NULL,
    input       bigint      NOT NULL,
    output      bigint      NOT NULL,
    cache_read  bigint      NOT NULL,
    cache_write bigint      NOT NULL,
    reasoning   bigint      NOT NULL,
    cost_micros bigint,               -- millionths of a US dollar; NULL: the runtime reports none with the answer
    CONSTRAINT usage_pkey PRIMARY KEY (runtime, key),
    CONSTRAINT usage_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents (id) ON DELETE CASCADE,
    CONSTRAINT usage_counts_check CHECK (input >= 0 AND output >= 0 AND cache_read >= 0 AND cache_write >= 0 AND reasoning >= 0)
);

CREATE INDEX usage_agent ON usage (agent_id);
CREATE INDEX usage_persona ON usage (persona, at);
CREATE INDEX usage_pipeline ON usage (pipeline_id) WHERE pipeline_id IS NOT NULL;
CREATE INDEX usage_at ON usage (at);

-- How far a source of usage was read: the bytes of a transcript, or the cost that a session has reported so far.
CREATE TABLE usage_read (
    host     text   NOT NULL,
    path     text   NOT NULL,
    agent_id bigint NOT NULL,
    read_to  bigint NOT NULL,
    model    text   NOT NULL DEFAULT '',
    CONSTRAINT usage_read_pkey PRIMARY KEY (host, path),
    CONSTRAINT usage_read_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents (id) ON DELETE CASCADE
);

CREATE INDEX usage_read_agent ON usage_read (agent_id);

-- What was told or decided about a persona's budget of a day, each once.
CREATE TABLE budget_marks (
    host    text        NOT NULL,
    persona text        NOT NULL,
    day     date        NOT NULL, -- on the host's clock
    mark    text        NOT NULL,
    budget  text        NOT NULL, -- the budget that it is about, so that another budget is told anew; '': any
    at      timestamptz NOT NULL,
    CONSTRAINT budget_marks_pkey PRIMARY KEY (host, persona, day, mark, budget),
    CONSTRAINT budget_marks_mark_check CHECK (mark IN ('warned', 'reached', 'waived', 'reset'))
);

-- +goose Down

DROP TABLE budget_marks;
DROP TABLE usage_read;
DROP TABLE usage;
