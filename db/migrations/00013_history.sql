-- Indexes for deleting rows that ended long ago: PostgreSQL looks for each deleted row in the tables that refer to it.

-- +goose Up

CREATE INDEX agents_ended ON agents (ended_at, id) WHERE ended_at IS NOT NULL;
CREATE INDEX agents_pipeline ON agents (pipeline_id) WHERE pipeline_id IS NOT NULL;
CREATE INDEX deliveries_handoff ON deliveries (handoff_id) WHERE handoff_id IS NOT NULL;
CREATE INDEX handoffs_delivery ON handoffs (delivery_id) WHERE delivery_id IS NOT NULL;
CREATE INDEX decisions_agent ON decisions (agent_id);
CREATE INDEX steps_pipeline ON steps (pipeline_id);
CREATE INDEX step_handoffs_agent ON step_handoffs (agent_id);

-- +goose Down

DROP INDEX step_handoffs_agent;
DROP INDEX steps_pipeline;
DROP INDEX decisions_agent;
DROP INDEX handoffs_delivery;
DROP INDEX deliveries_handoff;
DROP INDEX agents_pipeline;
DROP INDEX agents_ended;
