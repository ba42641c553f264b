package memory

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/storetext"
)

// hookAttempts is how often a hook from which an agent registers itself is tried. In PostgreSQL another hook of the
// same process may have registered it first, and each attempt takes an id there.
const hookAttempts = 3

// RecordHook stores a hook and the change that decide returns, in one transaction. It calls decide while no other
// call can change the store: decide must neither block nor call the store.
func (s *rowStore) RecordHook(
	ctx context.Context, in daemon.HookInput, decide func(daemon.HookTx) daemon.HookDecision,
) (daemon.HookResult, error) {
	leave, err := s.enter(ctx, "hook %s %s", in.Event, in.Key)
	if err != nil {
		return daemon.HookResult{}, err
	}
	defer leave()
	for range hookAttempts {
		var result daemon.HookResult
		if result, err = s.recordHook(in, decide); err == nil {
			return result, nil
		}
		if !errors.Is(err, violation("agents_process")) {
			break
		}
	}
	return daemon.HookResult{}, fmt.Errorf("hook %s %s: %w", in.Event, in.Key, named(err))
}

func (s *rowStore) recordHook(in daemon.HookInput, decide func(daemon.HookTx) daemon.HookDecision) (result daemon.HookResult, err error) {
	locked := s.lock(in)
	d := decide(locked)
	if d.Undone != nil {
		return daemon.HookResult{}, d.Undone
	}
	t := s.begin(&d.Change)
	if locked.Again {
		stored := s.hooks.get(locked.HookID)
		result = clone(stored.result)
		if d.Output != nil {
			result.Output = d.Output
		}
		if reflect.ValueOf(d.Change).IsZero() {
			return result, nil
		}
		return result, t.end(inOrder(t.rows, t.appendEvents))
	}
	result = daemon.HookResult{HookID: locked.HookID, Applied: d.Applied, Reason: d.Reason, Output: d.Output}
	switch {
	case locked.Agent != nil:
		result.AgentID = locked.Agent.ID
	case d.Change.NewAgent != nil:
		result.AgentID = d.Change.NewAgent.ID
	}
	return result, t.end(inOrder(t.rows, func() error { return t.storeHook(in, result) }, t.appendEvents))
}

// storeHook writes the row of a hook that comes for the first time.
func (t *tx) storeHook(in daemon.HookInput, result daemon.HookResult) error {
	key := storetext.Text(in.Key)
	row := hook{key: key, StoredHook: kept(daemon.StoredHook{Event: in.Event, Body: in.Body, ReceivedAt: t.at})}
	row.result = clone(result)
	row.result.Again, row.result.Reason = true, storetext.Text(result.Reason)
	if result.Output != nil {
		row.result.Output = jsonb(result.Output)
	}
	write(t, &t.hooks, result.HookID, &row)
	t.hookKeys[key] = result.HookID
	t.undo = append(t.undo, func() { delete(t.hookKeys, key) })
	return check("hook_events_agent_id_fkey", result.AgentID == 0 || t.agents.get(result.AgentID) != nil)
}

// lock finds the rows of a hook's agent and then takes the hook's id, as PostgreSQL takes it after the row locks.
func (s *rowStore) lock(in daemon.HookInput) (locked daemon.HookTx) {
	is := hookAgent(in)
	if id, again := s.hookKeys[storetext.Text(in.Key)]; again {
		locked.HookID, locked.Again = id, true
		agentID := s.hooks.get(id).result.AgentID
		is = func(a *daemon.Agent) bool { return a.ID == agentID }
	}
	if a, err := s.agent(is); err == nil {
		locked.Agent = a
		s.lockOpen(&locked)
	} else if !locked.Again {
		s.sequences[daemon.AgentIDs]++
		locked.NewAgentID = s.sequences[daemon.AgentIDs]
	}
	if !locked.Again {
		s.lastHook++
		locked.HookID = s.lastHook
	}
	return locked
}

// hookAgent reports whether a hook belongs to an agent: to the agent of its launch. A hook without a launch belongs to an
// agent on the same host that a person started: to the one with the hook's process, or, if the hook has no process, to the
// one with its session.
func hookAgent(in daemon.HookInput) func(*daemon.Agent) bool {
	session := storetext.Text(in.SessionID)
	return func(a *daemon.Agent) bool {
		switch {
		case in.LaunchHash != nil:
			return launchedBy(in.LaunchHash)(a)
		case a.Managed || a.Host != in.Host:
			return false
		case in.PID > 0 && in.PIDStart > 0:
			return a.Active() && a.PID == in.PID && a.PIDStart == in.PIDStart
		}
		return session != "" && a.SessionID != nil && *a.SessionID == session
	}
}

// lockOpen adds the agent's open handoff and open deliveries.
func (s *rowStore) lockOpen(locked *daemon.HookTx) {
	for _, h := range s.handoffs.all() {
		if h.AgentID == locked.Agent.ID && h.Open() {
			open := clone(*h)
			locked.Handoff = &open
		}
	}
	open := s.openDeliveries(locked.Agent.ID)
	locked.Deliveries = []*daemon.Delivery{}
	for i := range open {
		locked.Deliveries = append(locked.Deliveries, &open[i])
	}
}

// StoredHook returns a hook as it was stored; [daemon.ErrNotFound] for an unknown id.
func (s *rowStore) StoredHook(ctx context.Context, hookID int64) (daemon.StoredHook, error) {
	leave, err := s.enter(ctx, "hook %d", hookID)
	if err != nil {
		return daemon.StoredHook{}, err
	}
	defer leave()
	row := s.hooks.get(hookID)
	if row == nil {
		return daemon.StoredHook{}, fmt.Errorf("hook %d: %w", hookID, daemon.ErrNotFound)
	}
	return answer(&s.view, &row.StoredHook), nil
}
