-- +goose Up
-- The id of an answer of Claude Code's names the answer, whatever request it came with: a sub-agent's transcript may have it with another
-- request, and it counted again. The key is the id alone from now on. A daemon of the last release counts what it reads anew under its own
-- keys, as before.
DELETE FROM usage a USING usage b
WHERE a.key LIKE 'msg\_%/%' AND b.key LIKE 'msg\_%/%' AND a.runtime = b.runtime
  AND split_part(a.key, '/', 1) = split_part(b.key, '/', 1) AND a.key > b.key;

UPDATE usage SET key = split_part(key, '/', 1) WHERE key LIKE 'msg\_%/%';

-- +goose Down
-- The requests are not known any more. A key without one is as good: it only has to be the answer's own.
SELECT 1;
