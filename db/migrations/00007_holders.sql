-- Which run of which daemon holds the lock of a host, or held it last.

-- +goose Up

-- The lock itself is a session's. backend_pid and backend_start name the session: a row whose session
-- is not the one that holds the lock says nothing about the holder, which may be a daemon of an earlier version.
CREATE TABLE host_holders (
    host          text NOT NULL,
    backend_pid   integer NOT NULL,
    backend_start timestamptz NOT NULL,
    instance      text NOT NULL, -- one run of a daemon
    machine       text NOT NULL,
    boot          text NOT NULL, -- of the machine
    directory     text NOT NULL, -- identity of the data directory
    data_root     text NOT NULL,
    pid           integer NOT NULL,
    pid_start     bigint NOT NULL,
    taken_at      timestamptz NOT NULL,
    CONSTRAINT host_holders_pkey PRIMARY KEY (host)
);

-- +goose Down

DROP TABLE host_holders;
