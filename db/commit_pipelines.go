package db

import (
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/storetext"
)

// notifyPipelineWake tells a pipeline's host that its lane may have work. A pipeline's id is sent as -id.
const notifyPipelineWake = `SELECT pg_notify('understudy_wake', host || ' ' || -id) FROM pipelines WHERE id = $1`

// lockAdmission makes a host admit one pipeline after the other. It is a separate statement, because the statement
// hasRoom must see the pipelines that others committed while lockAdmission waited.
const lockAdmission = `SELECT pg_advisory_xact_lock(1970500730, hashtext($1))`

// hasRoom says whether pipeline $2 of host $1 may run: fewer than $3 others must run. A running pipeline counts as
// one, however many agents it has. Each living agent of a pipeline that is not running counts as one, too. If an
// older pipeline is pending, the answer is no, because pending pipelines start in the order of their ids.
const hasRoom = `
	SELECT (SELECT count(*) FROM pipelines WHERE host = $1 AND status = 'running' AND id <> $2)
	     + (SELECT count(*) FROM agents JOIN pipelines p ON p.id = agents.pipeline_id
	        WHERE agents.host = $1 AND agents.ended_at IS NULL AND p.status <> 'running' AND p.id <> $2) < $3
	   AND NOT EXISTS (SELECT FROM pipelines WHERE host = $1 AND status = 'pending' AND id < $2)`

// admit queues hasRoom for the change's pipeline. Call it before all other statements are queued, so that a
// transaction that waits for the admission lock holds no rows that others need.
func (w *write) admit() {
	if w.Admit == 0 {
		return
	}
	for _, p := range w.Change.Pipelines() {
		host := storetext.Text(p.Host)
		w.batch.Queue(lockAdmission, host)
		w.batch.Queue(hasRoom, host, p.ID, w.Admit).QueryRow(func(row pgx.Row) error {
			var room bool
			if err := row.Scan(&room); err != nil {
				return fmt.Errorf("admission of pipeline %d: %w", p.ID, err)
			}
			if !room {
				return fmt.Errorf("pipeline %d: %w", p.ID, daemon.ErrNoRoom)
			}
			return nil
		})
	}
}

// pipelines queues the writes of pipelines, their steps and the steps' outputs.
func (w *write) pipelines() {
	if p := w.NewPipeline; p != nil {
		w.batch.Queue(insertPipeline, pipelineValues(p)...)
		for i := range p.Steps {
			w.batch.Queue(insertStep, stepValues(p.ID, &p.Steps[i])...)
		}
	}
	if w.PipelineMove != nil {
		w.movePipeline(w.PipelineMove)
	}
	if o := w.NewOutput; o != nil {
		w.batch.Queue(insertOutput, outputValues(o)...)
		if w.NewStepRecord != nil {
			w.batch.Queue(insertStepRecord, stepRecordValues(o.ID, w.NewStepRecord)...)
		}
	}
}

// movePipeline queues the updates of a pipeline and of its steps, and the rows of its new steps.
func (w *write) movePipeline(m *daemon.PipelineMove) {
	p := m.Pipeline
	next := *p
	next.Seq++
	w.guarded(fmt.Sprintf("pipeline %d", p.ID), updatePipeline, append(pipelineValues(&next), p.Seq)...)
	w.done = append(w.done, func() { p.Seq = next.Seq })
	for _, s := range m.InOrder() {
		w.guarded(fmt.Sprintf("step %d of pipeline %d", s.ID, p.ID), updateStep, stepValues(p.ID, s)...)
	}
	for _, s := range m.NewSteps {
		w.batch.Queue(insertStep, stepValues(p.ID, s)...)
	}
}
