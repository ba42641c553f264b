-- hold is what is wrong with an agent, or what a handoff or an heir waits for, as values: its kind, since when, and what its words need.
-- NULL: nothing, or a daemon of the last release has written the note alone. That daemon decides by the note, so the note is still
-- written; a note that is not made of the hold beside it is newer, and daemon/hold_old.go reads it. The notes below are the ones that stay
-- for long. All others are of rows that are written again soon.

-- +goose Up

ALTER TABLE agents ADD COLUMN hold jsonb;
ALTER TABLE handoffs ADD COLUMN hold jsonb;
ALTER TABLE handoff_heirs ADD COLUMN hold jsonb;

UPDATE agents SET hold = jsonb_build_object('kind', known.kind, 'since', COALESCE(ended_at, state_at))
FROM (VALUES
    ('held: the budget of its persona is used up for today', 'budget'),
    ('its session goes on in the background and has no pane: stop it and resume it', 'in_background'),
    ('its turn broke off', 'broke_off'),
    ('its session has no conversation', 'no_conversation')
) AS known (note, kind)
WHERE agents.note = known.note;

UPDATE agents SET hold = jsonb_build_object('kind', 'not_resumed', 'since', COALESCE(ended_at, state_at),
    'says', substr(note, length('not resumed by the daemon: ') + 1))
WHERE note LIKE 'not resumed by the daemon: %';

UPDATE agents SET hold = jsonb_build_object('kind', 'broke_off', 'since', created_at, 'agent_id', substring(note FROM 'when agent ([0-9]{1,18}) ended')::bigint)
WHERE note ~ '^its turn broke off when agent [0-9]{1,18} ended: tell it to go on$';

UPDATE handoffs SET hold = jsonb_build_object('kind', known.kind, 'since', phase_at)
FROM (VALUES
    ('the agent was given work that its document may not mention; `understudy handoff retry` has it write the document anew, `understudy agent stop` ends it without', 'worked_on'),
    ('the agent was given work that its heirs do not know of; `understudy handoff retry` lets it live on beside them, `understudy agent stop` ends it', 'worked_aside')
) AS known (note, kind)
WHERE handoffs.note = known.note;

-- +goose Down

ALTER TABLE handoff_heirs DROP COLUMN hold;
ALTER TABLE handoffs DROP COLUMN hold;
ALTER TABLE agents DROP COLUMN hold;
