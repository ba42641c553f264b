package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/storetext"
)

// pipelineColumns lists the columns that are written, in the order of [pipelineValues].
const pipelineColumns = `id, title, template, prompt, branch, cwd, worktree, work_dir, host, status,
	error, error_code, hint, note, warnings, created_at, updated_at, started_at, finished_at, seq, resumed_at`

func pipelineValues(p *daemon.Pipeline) []any {
	return storable(p.ID, p.Title, p.Template, p.Prompt, p.Branch, p.Cwd, p.Worktree, p.WorkDir, p.Host, p.Status,
		p.Error, string(p.ErrorCode), p.Hint, p.Note, p.Warnings, p.CreatedAt, p.UpdatedAt, p.StartedAt, p.FinishedAt, p.Seq, p.ResumedAt)
}

// stepColumns lists the columns that are written, in the order of [stepValues].
const stepColumns = `id, pipeline_id, order_index, agent_name, persona, skill, runtime, model,
	description, prompt, approval, remind_after, timeout, status, error, input, comment, asked_at,
	approved_at, started_at, finished_at, number, round, next, max_rounds, came_from, came_by,
	otherwise, undecided`

func stepValues(pipelineID int64, s *daemon.Step) []any {
	return storable(s.ID, pipelineID, s.OrderIndex, s.AgentName, s.Persona, s.Skill, s.Runtime, s.Model,
		s.Description, s.Prompt, s.Approval, int64(s.RemindAfter), int64(s.Timeout), s.Status, s.Error, s.Input, s.Comment, s.AskedAt,
		s.ApprovedAt, s.StartedAt, s.FinishedAt, s.Number, s.Round, notNil(s.Next), s.MaxRounds, s.CameFrom, s.CameBy,
		s.Otherwise, string(s.Undecided))
}

const insertOutput = `INSERT INTO step_handoffs (id, step_id, agent_id, content_md, metadata, created_at,
		warnings, context_checksum, context_validated, metrics)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

func outputValues(o *daemon.StepHandoff) []any {
	return storable(o.ID, o.StepID, o.AgentID, o.ContentMD, o.Metadata, o.CreatedAt,
		o.Warnings, o.ContextChecksum, o.ContextValidated, o.Metrics)
}

const insertStepRecord = `INSERT INTO step_records (step_handoff_id, context, messages, decisions, refs) VALUES ($1, $2, $3, $4, $5)`

func stepRecordValues(outputID int64, r *daemon.StepRecord) []any {
	return storable(outputID, r.Context, notNil(r.Messages), notNil(r.Decisions), notNil(r.References))
}

const selectStepRecord = `SELECT context, messages, decisions, refs AS "references" FROM step_records WHERE step_handoff_id = $1`

// StepRecord returns the large part of a step's output. If none was stored with it, the error is [daemon.ErrNotFound].
func (db *rowStore) StepRecord(ctx context.Context, outputID int64) (daemon.StepRecord, error) {
	return one[daemon.StepRecord](ctx, db, fmt.Sprintf("record of output %d", outputID), selectStepRecord, outputID)
}

var (
	insertPipeline = `INSERT INTO pipelines (` + pipelineColumns + `) VALUES (` + placeholders(pipelineColumns) + `)`
	insertStep     = `INSERT INTO steps (` + stepColumns + `) VALUES (` + placeholders(stepColumns) + `)`
)

// updatePipeline takes, after the columns, the seq with which the row was read.
var updatePipeline = fmt.Sprintf(`UPDATE pipelines SET (%s) = ROW(%s) WHERE id = $1 AND seq = $%d`,
	pipelineColumns, placeholders(pipelineColumns), count(pipelineColumns)+1)

// updateStep has no guard of its own: the guarded update of the pipeline, in the same transaction, protects its steps.
var updateStep = fmt.Sprintf(`UPDATE steps SET (%s) = ROW(%s) WHERE id = $1 AND pipeline_id = $2`,
	stepColumns, placeholders(stepColumns))

const selectPipelines = `SELECT ` + pipelineColumns + ` FROM pipelines `

// listSteps reads the steps of the given pipelines, each with its agents and its output.
const listSteps = `SELECT ` + stepColumns + `, output_id, output_agent_id, output_content, output_metadata, output_at,
		output_warnings, output_checksum, output_validated, output_metrics,
		ARRAY(SELECT agents.id FROM agents WHERE agents.step_id = steps.id ORDER BY agents.id) AS agent_ids
	FROM steps LEFT JOIN (
		SELECT id AS output_id, step_id AS output_step_id, agent_id AS output_agent_id,
			content_md AS output_content, metadata AS output_metadata, created_at AS output_at,
			warnings AS output_warnings, context_checksum AS output_checksum, context_validated AS output_validated, metrics AS output_metrics
		FROM step_handoffs
	) AS outputs ON output_step_id = steps.id
	WHERE pipeline_id = ANY($1) ORDER BY pipeline_id, order_index`

// stepRow is one row of listSteps.
type stepRow struct {
	daemon.Step
	OutputID       *int64
	OutputAgentID  *int64
	OutputContent  *string
	OutputMetadata *daemon.Metadata
	OutputAt       *time.Time

	OutputWarnings  []string
	OutputChecksum  *string
	OutputValidated *bool
	OutputMetrics   *daemon.StepMetrics
}

// whole returns the step with its output.
func (r *stepRow) whole() daemon.Step {
	s := r.Step
	if s.Number == 0 { // a daemon of an older release created it
		s.Number = s.OrderIndex + 1
	}
	if r.OutputID != nil {
		s.LatestHandoff = &daemon.StepHandoff{
			ID: *r.OutputID, StepID: s.ID, AgentID: *r.OutputAgentID,
			ContentMD: *r.OutputContent, Metadata: r.OutputMetadata, CreatedAt: *r.OutputAt,
			Warnings: r.OutputWarnings, ContextChecksum: r.OutputChecksum, ContextValidated: *r.OutputValidated, Metrics: *r.OutputMetrics,
		}
	}
	return s
}

const selectPipeline = selectPipelines + `WHERE id = $1`

// Pipeline returns the pipeline with this id and its steps. If there is none, the error is [daemon.ErrNotFound].
func (db *rowStore) Pipeline(ctx context.Context, id int64) (daemon.Pipeline, error) {
	what := fmt.Sprintf("pipeline %d", id)
	pipelines, err := db.pipelines(ctx, what, selectPipeline, id)
	if err != nil {
		return daemon.Pipeline{}, err
	}
	if len(pipelines) == 0 {
		return daemon.Pipeline{}, fmt.Errorf("%s: %w", what, daemon.ErrNotFound)
	}
	return pipelines[0], nil
}

const listPipelines = selectPipelines + `
	WHERE ($1 = '' OR status = $1)
	  AND ($2 = '' OR template = $2)
	  AND ($3 = '' OR host = $3)
	  AND (NOT $4 OR status NOT IN ('done', 'failed'))
	  AND ($5::bigint = 0 OR id < $5)
	ORDER BY id DESC LIMIT $6`

// Pipelines lists pipelines with their steps, the newest first.
func (db *rowStore) Pipelines(ctx context.Context, f daemon.PipelineFilter) ([]daemon.Pipeline, error) {
	return db.pipelines(ctx, "list of pipelines", listPipelines,
		storable(string(f.Status), f.Template, f.Host, f.Open, f.Before, limitOr(f.Limit, 100))...)
}

// snapshot makes all statements of a transaction see the same state of the database.
var snapshot = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}

// pipelines reads the pipelines that the query selects, with their steps. It reads both in one snapshot, so that it
// never combines a pipeline with steps from before or after a write. Without an error the list is never nil.
func (db *rowStore) pipelines(ctx context.Context, what, sql string, args ...any) ([]daemon.Pipeline, error) {
	var pipelines []daemon.Pipeline
	err := pgx.BeginTxFunc(ctx, db.poolFor(ctx), snapshot, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		// Use Lax, because Steps and the derived fields of Pipeline have no columns.
		pipelines, err = pgx.CollectRows(rows, pgx.RowToStructByNameLax[daemon.Pipeline])
		if err != nil || len(pipelines) == 0 {
			return err
		}
		return addSteps(ctx, tx, pipelines)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, unavailable(err))
	}
	return pipelines, nil
}

// addSteps reads the steps of the pipelines, and derives from them each pipeline's current agent.
func addSteps(ctx context.Context, tx pgx.Tx, pipelines []daemon.Pipeline) error {
	byID, ids := make(map[int64]*daemon.Pipeline, len(pipelines)), make([]int64, len(pipelines))
	for i := range pipelines {
		pipelines[i].Steps = []daemon.Step{}
		byID[pipelines[i].ID], ids[i] = &pipelines[i], pipelines[i].ID
	}
	rows, err := tx.Query(ctx, listSteps, ids)
	if err != nil {
		return err
	}
	steps, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[stepRow])
	if err != nil {
		return fmt.Errorf("steps: %w", err)
	}
	for i := range steps {
		s := steps[i].whole()
		p := byID[s.PipelineID]
		p.Steps = append(p.Steps, s)
		if n := len(s.AgentIDs); n > 0 && s.Status == daemon.StepRunning {
			newest := s.AgentIDs[n-1]
			p.CurrentAgentID = &newest
		}
	}
	return nil
}

const listPipelinePlaces = `SELECT id, work_dir FROM pipelines WHERE host = $1 AND status NOT IN ('done', 'failed') ORDER BY id`

// PipelinePlaces returns the directories in which the host's open pipelines work, the oldest first.
func (db *rowStore) PipelinePlaces(ctx context.Context, host string) ([]daemon.PipelinePlace, error) {
	return list[daemon.PipelinePlace](ctx, db, "places of pipelines", listPipelinePlaces, storetext.Text(host))
}

// Of the pending pipelines only the oldest can be admitted; the others wait behind it.
// listOpenPipelines: of the pending ones only the oldest.
const listOpenPipelines = `
	SELECT id FROM pipelines WHERE host = $1 AND status IN ('running', 'waiting_for_approval')
	UNION
	SELECT min(id) FROM pipelines WHERE host = $1 AND status = 'pending' HAVING min(id) IS NOT NULL`
