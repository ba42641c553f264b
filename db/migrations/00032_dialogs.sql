-- What the operator has answered to a dialog of an agent from elsewhere than its pane, and whether the pane takes keys from a
-- browser.

-- +goose Up

ALTER TABLE agents
    ADD COLUMN dialog_answer jsonb,
    ADD COLUMN keys jsonb;

-- +goose Down

ALTER TABLE agents DROP COLUMN dialog_answer, DROP COLUMN keys;
