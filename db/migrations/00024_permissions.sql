-- The permissions for which agents ask, and what was answered.

-- +goose Up

-- id is that of the hook that asked; the hook may be pruned.
CREATE TABLE permissions (
    id            bigint PRIMARY KEY,
    agent_id      bigint NOT NULL REFERENCES agents,
    host          text NOT NULL,
    tool          text NOT NULL,
    subject       text NOT NULL,
    description   text NOT NULL,
    shown         text NOT NULL,
    whole         boolean NOT NULL,
    digest        text NOT NULL,
    rule          text NOT NULL,
    state         text NOT NULL
        CONSTRAINT permissions_state_known CHECK (state IN ('open', 'answered', 'given', 'pane', 'unanswered', 'lost')),
    verdict       text NOT NULL
        CONSTRAINT permissions_verdict_known CHECK (verdict IN ('', 'allow', 'allow_agent', 'deny')),
    answered_by   text NOT NULL,
    answered_from text NOT NULL,
    sentence      text NOT NULL,
    note          text NOT NULL,
    asked_at      timestamptz NOT NULL,
    held_until    timestamptz,
    answered_at   timestamptz,
    ended_at      timestamptz,
    rev           bigint NOT NULL,
    CONSTRAINT permissions_answered CHECK ((state IN ('answered', 'given', 'lost')) = (verdict <> ''))
);
CREATE INDEX permissions_agent ON permissions (agent_id, id);
CREATE INDEX permissions_open ON permissions (host, id) WHERE state IN ('open', 'answered');

-- allow_rules is what the operator has allowed an agent beyond one call. session_mode is the permission mode that its newest
-- hook told. The defaults stay: daemons of the version before, on other hosts, write rows without these.
ALTER TABLE agents
    ADD COLUMN allow_rules text[] NOT NULL DEFAULT '{}',
    ADD COLUMN session_mode text NOT NULL DEFAULT '';

-- +goose Down

ALTER TABLE agents DROP COLUMN allow_rules, DROP COLUMN session_mode;
DROP TABLE permissions;
