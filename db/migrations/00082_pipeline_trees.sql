-- The work trees of pipelines have rows, as those of lines have. A daemon of the last release makes them without rows: see oldTrees in
-- worktrees.go.

-- +goose Up

-- NULL: the tree of a line, which is all that the last release knows, or its pipeline was deleted.
ALTER TABLE worktrees
    ADD COLUMN pipeline_id bigint,
    ADD CONSTRAINT worktrees_pipeline_id_fkey FOREIGN KEY (pipeline_id) REFERENCES pipelines (id) ON DELETE SET NULL;

CREATE INDEX worktrees_of_pipelines ON worktrees (pipeline_id, id) WHERE pipeline_id IS NOT NULL;

-- A planned tree is work for its lane.
CREATE INDEX worktrees_planned ON worktrees (host, id) WHERE state = 'planned';

-- +goose Down

DROP INDEX worktrees_planned;
DROP INDEX worktrees_of_pipelines;
ALTER TABLE worktrees DROP COLUMN pipeline_id;
