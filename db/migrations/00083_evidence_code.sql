-- evidence_code is why a delivery has its verdict, by which daemons decide. evidence says the same in words, and is still written: a daemon
-- of the last release decides by it, and writes no code. daemon/hold_old.go reads that. Evidence with details of its own has no code.

-- +goose Up

ALTER TABLE deliveries ADD COLUMN evidence_code text NOT NULL DEFAULT '';

UPDATE deliveries SET evidence_code = known.code
FROM (VALUES
    ('found in the transcript', 'in_transcript'),
    ('taken from the command line after all', 'command_line'),
    ('the agent has no pane', 'no_pane'),
    ('the pane is gone', 'pane_gone'),
    ('the agent ended', 'agent_ended'),
    ('the agent goes on without it', 'went_on'),
    ('the context file was changed before it was delivered', 'context_changed'),
    ('the handoff ended while it was typed', 'handoff_ended'),
    ('the agent''s handoff was recorded', 'handoff_recorded'),
    ('the agent was asked to stop', 'stop_asked'),
    ('its step of the pipeline has ended', 'step_ended'),
    ('ack_timeout: it is not known whether it was typed, and the composer takes nothing now', 'composer_blocked'),
    ('ack_timeout: it is not known whether it was typed, and the screen is not known', 'screen_unknown')
) AS known (evidence, code)
WHERE deliveries.evidence = known.evidence;

-- +goose Down

ALTER TABLE deliveries DROP COLUMN evidence_code;
