package db

import (
	"context"
	"fmt"

	"github.com/understudyd/understudy/daemon"
)

// agentColumns lists the columns in the order of [agentValues].
const agentColumns = `id, name, persona, runtime, host, state, pane, pane_socket, session_id,
	transcript_path, cwd, generation, previous_agent_id, context, skill_injected_at, created_at,
	registered_at, ended_at, end_reason, note, rev, managed, pane_server_pid, pane_server_start, pid,
	pid_start, launch_hash, tmux_session, options, resume, background_tasks, last_prompt, last_stop,
	last_hook, turn_prompt_id, end_hint, spawned_at, stop_asked_at, stop_force, stop_stage,
	stop_stage_at, context_start, auto_asked_at, compact_hook, last_prompt_at, pipeline_id, step_id,
	work_stop, handing_over, trouble, stop_interrupt, state_at, waits_for, last_message,
	stop_yields, pane_columns, pane_rows, answered_at, first_prompt_id, in_trouble, end_cause,
	model, permission_mode,
	in_limit, limited_until, limit_tried_at,
	reading, read_at, unread_at, effort, base, allow_rules, session_mode,
	asked, unread, finished_at, notify_finished, repository, branch, args, dialog_answer, keys, worktree_id, dismissed_at,
	stop_came_at, start_cwd, start_base, background, account, hold, end_code, sandbox`

func agentValues(a *daemon.Agent) []any {
	var launch any // NULL for an empty hash, because the unique index would refuse a second empty hash
	if len(a.LaunchHash) > 0 {
		launch = a.LaunchHash
	}
	return storable(a.ID, a.Name, a.Persona, a.Runtime, a.Host, a.State, a.Pane, a.PaneSocket, a.SessionID,
		a.TranscriptPath, a.Cwd, a.Generation, a.PreviousAgentID, a.Context, a.SkillInjectedAt, a.CreatedAt,
		a.RegisteredAt, a.EndedAt, a.EndReason, a.Note, a.Rev, a.Managed, a.PaneServerPID, a.PaneServerStart, a.PID,
		a.PIDStart, launch, a.TmuxSession, a.Options, a.Resume, a.BackgroundTasks, a.LastPrompt, a.LastStop,
		a.LastHook, a.TurnPromptID, a.EndHint, a.SpawnedAt, a.StopAskedAt, a.StopForce, a.StopStage,
		a.StopStageAt, a.ContextStart, a.AutoAskedAt, a.CompactHook, a.LastPromptAt, a.PipelineID, a.StepID,
		a.WorkStop, a.HandingOver, a.TurnError, a.StopInterrupt, a.StateAt, a.WaitsFor, a.LastMessage,
		a.StopYields, a.PaneColumns, a.PaneRows, a.AnsweredAt, a.FirstPromptID, a.Trouble, a.EndCause,
		a.Model, a.PermissionMode,
		a.Limit, a.LimitedUntil, a.LimitTriedAt,
		a.Reading, a.ReadAt, a.UnreadAt, a.Effort, a.Base, a.AllowRules, a.SessionMode,
		a.Asked, a.Unread, a.FinishedAt, a.NotifyFinished, a.Repository, a.Branch, a.Args, a.DialogAnswer, a.Keys, a.WorktreeID, a.DismissedAt,
		a.StopCameAt, a.StartCwd, a.StartBase, a.Background, a.Account, a.Hold, string(a.EndCode), a.Sandbox)
}

// selectAgents reads whole agents and derives each one's successor.
const selectAgents = `SELECT ` + agentColumns + `,
	(SELECT max(s.id) FROM agents s WHERE s.previous_agent_id = agents.id) AS successor_id
	FROM agents `

var insertAgent = `INSERT INTO agents (` + agentColumns + `) VALUES (` + placeholders(agentColumns) + `)`

// updateAgent takes, after the columns, the rev with which the row was read.
var updateAgent = fmt.Sprintf(`UPDATE agents SET (%s) = ROW(%s) WHERE id = $1 AND rev = $%d`,
	agentColumns, placeholders(agentColumns), count(agentColumns)+1)

const selectAgent = selectAgents + `WHERE id = $1`

// Agent returns the agent with this id. If there is none, the error is [daemon.ErrNotFound].
func (db *rowStore) Agent(ctx context.Context, id int64) (daemon.Agent, error) {
	return one[daemon.Agent](ctx, db, fmt.Sprintf("agent %d", id), selectAgent, id)
}

const selectAgentByLaunch = selectAgents + `WHERE launch_hash = $1`

// AgentByLaunch returns the agent whose launch secret has this SHA-256. If there is none, the error is
// [daemon.ErrNotFound].
func (db *rowStore) AgentByLaunch(ctx context.Context, hash []byte) (daemon.Agent, error) {
	return one[daemon.Agent](ctx, db, "agent by launch secret", selectAgentByLaunch, hash)
}

const listAgents = selectAgents + `
	WHERE ($1 = '' OR state = $1)
	  AND ($2 = '' OR persona = $2)
	  AND ($3 = '' OR host = $3)
	  AND (NOT $4 OR ended_at IS NULL)
	  AND ($5::bigint = 0 OR previous_agent_id = $5)
	  AND ($6::bigint = 0 OR id < $6)
	  AND ($7 = '' OR end_cause = $7)
	ORDER BY id DESC LIMIT $8`

const listEndedAgents = selectAgents + `WHERE ended_at IS NOT NULL ORDER BY ended_at DESC, id DESC LIMIT $1`

// Agents lists the agents that f selects, the newest first. With f.Lately it lists only ended agents, starting with
// the one that ended last.
func (db *rowStore) Agents(ctx context.Context, f daemon.AgentFilter) ([]daemon.Agent, error) {
	if f.Lately {
		return list[daemon.Agent](ctx, db, "list of agents by their ends", listEndedAgents, limitOr(f.Limit, 100))
	}
	return list[daemon.Agent](ctx, db, "list of agents", listAgents,
		storable(string(f.State), f.Persona, f.Host, f.Active, f.Previous, f.Before, f.EndCause, limitOr(f.Limit, 100))...)
}

const listOpenAgents = `
	SELECT id FROM agents
	WHERE host = $1 AND ended_at IS NULL AND (state = 'starting' OR stop_asked_at IS NOT NULL)
	UNION
	SELECT a.id FROM handoffs h JOIN agents a ON a.id = h.agent_id
	WHERE a.host = $1 AND h.phase NOT IN ('completed', 'failed', 'cancelled')
	UNION
	SELECT a.id FROM deliveries d JOIN agents a ON a.id = d.agent_id
	WHERE a.host = $1 AND d.state <> 'done'
	UNION
	SELECT id FROM agents WHERE host = $1 AND reading AND ended_at IS NOT NULL`

// listOpen gives each id with its kind, the first letter of its table.
const listOpen = `
	SELECT 'a' AS kind, id FROM (` + listOpenAgents + `) a
	UNION ALL SELECT 'p', id FROM (` + listOpenPipelines + `) p
	UNION ALL SELECT 'w', id FROM (` + listOpenWorktrees + `) w
	ORDER BY id`

// Open returns the rows of the host for which a lane has, or may have, work.
func (db *rowStore) Open(ctx context.Context, host string) (daemon.Open, error) {
	type row struct {
		Kind string
		ID   int64
	}
	rows, err := list[row](ctx, db, "list of open work", listOpen, host)
	open := daemon.Open{Agents: []int64{}, Pipelines: []int64{}, Trees: []int64{}}
	for _, r := range rows {
		switch r.Kind {
		case "a":
			open.Agents = append(open.Agents, r.ID)
		case "p":
			open.Pipelines = append(open.Pipelines, r.ID)
		default:
			open.Trees = append(open.Trees, r.ID)
		}
	}
	return open, err
}

const listActiveAgents = `SELECT id, rev FROM agents WHERE host = $1 AND ended_at IS NULL ORDER BY id`

// ActiveAgents returns the host's agents that have not ended, in the order of their ids.
func (db *rowStore) ActiveAgents(ctx context.Context, host string) ([]daemon.AgentRev, error) {
	return list[daemon.AgentRev](ctx, db, "list of active agents", listActiveAgents, host)
}

const listAgentsByID = selectAgents + `WHERE id = ANY($1) ORDER BY id`

// AgentsByID returns the agents with the given ids, in the order of the ids. It leaves out unknown ids.
func (db *rowStore) AgentsByID(ctx context.Context, ids []int64) ([]daemon.Agent, error) {
	return list[daemon.Agent](ctx, db, "agents by id", listAgentsByID, ids)
}
