package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/storetext"
)

var (
	agentStates = []daemon.AgentState{daemon.Starting, daemon.Idle, daemon.Working, daemon.Waiting, daemon.Limited, daemon.Ended}
	stopStages  = []daemon.StopStage{
		daemon.StopNone, daemon.StopBreak, daemon.StopAsked, daemon.StopAnswer, daemon.StopTerm, daemon.StopKill, daemon.StopFailed,
	}
)

func (t *tx) putAgent(a *daemon.Agent) error {
	row := kept(*a)
	row.SuccessorID = nil
	row.ReadOld()
	agents := &t.agents
	foreign := func(a *daemon.Agent) bool { return a.Active() && a.PID > 0 && !a.Managed }
	if err := check(
		"agents_ended", (row.State == daemon.Ended) == !row.Active(),
		"agents_state_known", slices.Contains(agentStates, row.State),
		"agents_stop_stage_known", slices.Contains(stopStages, row.StopStage),
		"agents_launch_hash", row.LaunchHash == nil || !agents.any(row.ID, func(b *daemon.Agent) bool {
			return bytes.Equal(b.LaunchHash, row.LaunchHash)
		}),
		"agents_tmux_session", row.TmuxSession == "" || !agents.any(row.ID, func(b *daemon.Agent) bool {
			return b.TmuxSession == row.TmuxSession
		}),
		"agents_process", !foreign(&row) || !agents.any(row.ID, func(b *daemon.Agent) bool {
			return foreign(b) && b.Host == row.Host && b.Process() == row.Process()
		}),
	); err != nil {
		return err
	}
	write(t, agents, row.ID, &row)
	return check(
		"agents_previous_agent_id_fkey", agents.has(row.PreviousAgentID),
		"agents_pipeline_id_fkey", t.pipelines.has(row.PipelineID),
		"agents_step_id_fkey", t.steps.has(row.StepID),
		"agents_worktree_id_fkey", t.worktrees.has(row.WorktreeID),
	)
}

// derive sets the field of an agent that its row does not hold: the newest successor.
func (s *rowStore) derive(a *daemon.Agent) {
	for id, b := range s.agents.newest() {
		if b.PreviousAgentID != nil && *b.PreviousAgentID == a.ID {
			a.SuccessorID = &id
			return
		}
	}
}

// agent returns the newest agent that is accepts.
func (s *rowStore) agent(is func(*daemon.Agent) bool) (*daemon.Agent, error) {
	for _, a := range s.agents.newest() {
		if is(a) {
			found := s.derived(a)
			return &found, nil
		}
	}
	return nil, daemon.ErrNotFound
}

// derived returns an agent with its derived field.
func (s *rowStore) derived(row *daemon.Agent) daemon.Agent {
	a := answer(&s.view, row)
	s.derive(&a)
	return a
}

// Agent returns an agent; [daemon.ErrNotFound] for an unknown id.
func (s *rowStore) Agent(ctx context.Context, id int64) (daemon.Agent, error) {
	return one(ctx, &s.view, &s.agents, id, "agent %d", s.derive)
}

// AgentByLaunch finds the agent of a launch secret by its SHA-256; [daemon.ErrNotFound].
func (s *rowStore) AgentByLaunch(ctx context.Context, hash []byte) (daemon.Agent, error) {
	leave, err := s.enter(ctx, "agent by launch secret")
	if err != nil {
		return daemon.Agent{}, err
	}
	defer leave()
	a, err := s.agent(launchedBy(hash))
	if err != nil {
		return daemon.Agent{}, fmt.Errorf("agent by launch secret: %w", err)
	}
	return *a, nil
}

func launchedBy(hash []byte) func(*daemon.Agent) bool {
	return func(a *daemon.Agent) bool { return len(hash) > 0 && bytes.Equal(a.LaunchHash, hash) }
}

// Agents lists agents, the newest first: by their ids, or by their ends if f.Lately is set.
func (s *rowStore) Agents(ctx context.Context, f daemon.AgentFilter) ([]daemon.Agent, error) {
	leave, err := s.enter(ctx, "list of agents")
	if err != nil {
		return nil, err
	}
	defer leave()
	persona := storetext.Text(f.Persona)
	var agents []daemon.Agent
	if f.Lately {
		agents = collect(&s.view, s.agents.newest(), -1, func(a *daemon.Agent) bool { return !a.Active() })
		slices.SortStableFunc(agents, func(a, b daemon.Agent) int { return cmp.Compare(b.EndedAt.UnixMicro(), a.EndedAt.UnixMicro()) })
		agents = agents[:min(len(agents), limitOr(f.Limit, 100))]
	} else {
		agents = collect(&s.view, s.agents.newest(), limitOr(f.Limit, 100), func(a *daemon.Agent) bool {
			return (f.State == "" || a.State == f.State) &&
				(f.Persona == "" || a.PersonaSlug() == persona) &&
				(f.Host == "" || a.Host == f.Host) &&
				(!f.Active || a.Active()) &&
				(f.Previous == 0 || a.PreviousAgentID != nil && *a.PreviousAgentID == f.Previous) &&
				(f.Before == 0 || a.ID < f.Before) &&
				(f.EndCause == "" || a.EndCause == f.EndCause)
		})
	}
	for i := range agents {
		s.derive(&agents[i])
	}
	return agents, nil
}

// Open returns the rows of the host for which a lane has, or may have, work.
func (s *rowStore) Open(ctx context.Context, host string) (daemon.Open, error) {
	leave, err := s.enter(ctx, "list of open work")
	if err != nil {
		return daemon.Open{}, err
	}
	defer leave()
	return daemon.Open{Agents: s.openAgents(host), Pipelines: s.openPipelines(host), Trees: s.openTrees(host)}, nil
}

func (s *rowStore) openAgents(host string) []int64 {
	busy := map[int64]bool{}
	for id, a := range s.agents.all() {
		if a.Active() && (a.State == daemon.Starting || a.StopAskedAt != nil) || !a.Active() && a.Reading {
			busy[id] = true
		}
	}
	for _, h := range s.handoffs.all() {
		if h.Open() {
			busy[h.AgentID] = true
		}
	}
	for _, d := range s.deliveries.all() {
		if d.Open() {
			busy[d.AgentID] = true
		}
	}
	ids := []int64{}
	for id, a := range s.agents.all() {
		if a.Host == host && busy[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// ActiveAgents returns the host's agents that have not ended, in the order of their ids.
func (s *rowStore) ActiveAgents(ctx context.Context, host string) ([]daemon.AgentRev, error) {
	leave, err := s.enter(ctx, "list of active agents")
	if err != nil {
		return nil, err
	}
	defer leave()
	revs := []daemon.AgentRev{}
	for id, a := range s.agents.all() {
		if a.Host == host && a.Active() {
			revs = append(revs, daemon.AgentRev{ID: id, Rev: a.Rev})
		}
	}
	return revs, nil
}

// AgentsByID returns the agents with one of the ids, in the order of their ids. It leaves out an unknown id.
func (s *rowStore) AgentsByID(ctx context.Context, ids []int64) ([]daemon.Agent, error) {
	leave, err := s.enter(ctx, "agents by id")
	if err != nil {
		return nil, err
	}
	defer leave()
	agents := []daemon.Agent{}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		if a := s.agents.get(id); a != nil {
			agents = append(agents, s.derived(a))
		}
	}
	return agents, nil
}
