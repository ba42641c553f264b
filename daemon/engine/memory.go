package engine

import (
	"slices"
	"sync"
)

// Memory is what a floor remembers about each agent without storing it. No row depends on it, so a daemon that restarts begins without it:
// each field of M says what happens then. [Memory.Change] makes an entry when something is first remembered, and drops it when all its fields
// are zero. The mutex guards only the map: it is held while fields are read or set, never across tmux, the database or a file.
type Memory[M comparable] struct {
	mu     sync.Mutex
	agents map[int64]M
}

// Of returns what is remembered about an agent.
func (ms *Memory[M]) Of(agentID int64) M {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.agents[agentID]
}

// Change lets f change what is remembered about an agent. f runs under the mutex, and must only read and set fields.
func (ms *Memory[M]) Change(agentID int64, f func(m *M)) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	ms.changeLocked(agentID, f)
}

// ChangeAmong is Change for an f that decides by what is remembered about all agents, which it must not change.
func (ms *Memory[M]) ChangeAmong(agentID int64, f func(m *M, all map[int64]M)) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	ms.changeLocked(agentID, func(m *M) { f(m, ms.agents) })
}

// ChangeAll is Change for all agents about whom something is remembered, one after the other without a pause.
func (ms *Memory[M]) ChangeAll(f func(agentID int64, m *M)) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for id := range ms.agents {
		ms.changeLocked(id, func(m *M) { f(id, m) })
	}
}

func (ms *Memory[M]) changeLocked(agentID int64, f func(m *M)) {
	m := ms.agents[agentID]
	f(&m)
	if m == *new(M) {
		delete(ms.agents, agentID)
		return
	}
	if ms.agents == nil {
		ms.agents = map[int64]M{}
	}
	ms.agents[agentID] = m
}

// IDs returns the agents whose memory matches, in the order of their ids.
func (ms *Memory[M]) IDs(matches func(m M) bool) (ids []int64) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for id, m := range ms.agents {
		if matches(m) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// all returns the agents about whom something is remembered.
func (ms *Memory[M]) all() []int64 { return ms.IDs(func(M) bool { return true }) }

// forget drops what is remembered about an agent.
func (ms *Memory[M]) forget(agentID int64) {
	ms.Change(agentID, func(m *M) { *m = *new(M) })
}

// remembers is a [Memory].
type remembers interface {
	all() []int64
	forget(agentID int64)
}

// Remember makes a memory known to an engine: when an agent has ended, its lane drops what is remembered about it. Call it before Run.
func Remember(e *Engine, m remembers) { e.memories = append(e.memories, m) }

// Forget drops what is remembered about an agent that has ended.
func Forget(e *Engine, agentID int64) {
	for _, m := range e.memories {
		m.forget(agentID)
	}
}

// Remembered returns the agents about whom something is remembered, in the order of their ids.
func Remembered(e *Engine) (ids []int64) {
	for _, m := range e.memories {
		ids = append(ids, m.all()...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
