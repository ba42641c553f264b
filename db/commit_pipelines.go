package db

import (
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/storetext"
)

// runs returns the runs that the change writes.
func (w *write) runs() []*daemon.Pipeline {
	var runs []*daemon.Pipeline
	if w.NewPipeline != nil {
		runs = append(runs, w.NewPipeline)
	}
	if w.Run != nil {
		runs = append(runs, w.Run.Pipeline)
	}
	return runs
}

func idsOf(runs []*daemon.Pipeline) []int64 {
	ids := make([]int64, len(runs))
	for i, p := range runs {
		ids[i] = p.ID
	}
	return ids
}

// notifyRunWake tells each run's host that there may be work for it.
const notifyRunWake = `SELECT pg_notify('understudy_wake', host || ' ' || -id) FROM pipelines WHERE id = ANY($1)`

// lockAdmission lets the runs of a host be admitted one after the other. A statement of its own: the
// next one must see what was committed while this one waited.
const lockAdmission = `SELECT pg_advisory_xact_lock(1970500730, hashtext($1))`

// hasRoom says whether a run ($2) of a host ($1) may be at work beside what is. An agent counts as
// long as it lives, also one whose run has ended or waits, but a run that is at work counts once,
// with all its agents. Who waits goes in the order of the ids.
const hasRoom = `
	SELECT (SELECT count(*) FROM pipelines WHERE host = $1 AND status = 'running' AND id <> $2)
	     + (SELECT count(*) FROM agents JOIN pipelines p ON p.id = agents.pipeline_id
	        WHERE agents.host = $1 AND agents.ended_at IS NULL AND p.status <> 'running' AND p.id <> $2) < $3
	   AND NOT EXISTS (SELECT FROM pipelines WHERE host = $1 AND status = 'pending' AND id < $2)`

// admit queues the question whether the change's run may be at work. It comes first: other
// transactions that hold rows do not wait for admission.
func (w *write) admit() {
	if w.Admit == 0 {
		return
	}
	for _, p := range w.runs() {
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

// pipelines queues the writes of runs, their steps and what those leave.
func (w *write) pipelines() {
	if p := w.NewPipeline; p != nil {
		w.batch.Queue(insertPipeline, pipelineValues(p)...)
		for i := range p.Steps {
			w.batch.Queue(insertStep, stepValues(p.ID, &p.Steps[i])...)
		}
	}
	if w.Run != nil {
		w.run(w.Run)
	}
	if o := w.NewOutput; o != nil {
		w.batch.Queue(insertOutput, outputValues(o)...)
	}
}

// run queues a run's write with that of its steps. The step that begins comes last: at no time may
// two of a run be at work.
func (w *write) run(m *daemon.RunMove) {
	p := m.Pipeline
	next := *p
	next.Seq++
	w.guarded(fmt.Sprintf("pipeline %d", p.ID), updatePipeline, append(pipelineValues(&next), p.Seq)...)
	w.done = append(w.done, func() { p.Seq = next.Seq })
	begins := func(s *daemon.Step) bool { return s.Status == daemon.StepRunning }
	for _, s := range slices.DeleteFunc(slices.Clone(m.Steps), begins) {
		w.step(p.ID, s)
	}
	for _, s := range m.Steps {
		if begins(s) {
			w.step(p.ID, s)
		}
	}
}

func (w *write) step(pipelineID int64, s *daemon.Step) {
	w.guarded(fmt.Sprintf("step %d of pipeline %d", s.ID, pipelineID), updateStep, stepValues(pipelineID, s)...)
}
