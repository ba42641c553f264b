package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/understudyd/understudy/daemon"
)

// RosterPage is how many rows one query reads.
const RosterPage = 500

// Roster reads the active agents of the host. The sweep asks it each second, and so does each session that a person
// starts. So it keeps the rows, and reads a row again only if its revision has changed.
type Roster struct {
	store daemon.OpenWork
	host  string

	mu   sync.Mutex
	Rows map[int64]daemon.Agent
}

// Agents returns all active agents of the host, in the order of their ids. Their SuccessorID may be outdated, because it
// is not part of the row.
func (r *Roster) Agents(ctx context.Context) ([]daemon.Agent, error) {
	revs, err := r.store.ActiveAgents(ctx, r.host)
	if err != nil {
		return nil, fmt.Errorf("active agents: %w", err)
	}
	for ids := range slices.Chunk(r.changed(revs), RosterPage) {
		rows, err := r.store.AgentsByID(ctx, ids)
		if err != nil {
			return nil, fmt.Errorf("active agents: %w", err)
		}
		r.Keep(rows)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	agents := make([]daemon.Agent, 0, len(revs))
	active := make(map[int64]bool, len(revs))
	for _, rev := range revs {
		active[rev.ID] = true
		if a, ok := r.Rows[rev.ID]; ok && a.Active() { // the other agents have ended since ActiveAgents
			agents = append(agents, a)
		}
	}
	maps.DeleteFunc(r.Rows, func(id int64, _ daemon.Agent) bool { return !active[id] })
	return agents, nil
}

// Known returns the agents that the last read of the database found active.
func (r *Roster) Known() []daemon.Agent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.Rows))
}

// changed returns the ids of the agents whose rows are not kept, or are kept with an older revision.
func (r *Roster) changed(revs []daemon.AgentRev) (ids []int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rev := range revs {
		if a, ok := r.Rows[rev.ID]; !ok || a.Rev < rev.Rev {
			ids = append(ids, rev.ID)
		}
	}
	return ids
}

// Keep keeps rows, except those that another caller has read with a later revision.
func (r *Roster) Keep(rows []daemon.Agent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range rows {
		if old, ok := r.Rows[a.ID]; !ok || old.Rev <= a.Rev {
			r.Rows[a.ID] = a
		}
	}
}

// AllAgents returns all agents that a filter lets through, page by page. It sets the filter's Limit and Before.
func (d *Engine) AllAgents(ctx context.Context, f daemon.AgentFilter) (all []daemon.Agent, err error) {
	for f.Limit = RosterPage; ; {
		page, err := d.Store.Agents(ctx, f)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < f.Limit {
			return all, nil
		}
		f.Before = page[len(page)-1].ID
	}
}
