package daemon

import (
	"slices"
	"sync"
	"time"

	"github.com/understudyd/understudy/tmux"
)

// agentMemory is what the daemon remembers of one agent and stores nowhere. No row depends on it: a daemon that restarts
// begins without it, and each field says what that daemon does otherwise.
type agentMemory struct {
	// watched is the process whose end a goroutine of this run waits for. The next run waits for it anew.
	watched tmux.Process
	// sighting is what the runtime's registry said last. After a restart the registry must say the same for [settle]
	// again before it overrules the hooks.
	sighting sighting
	// glimpse is what the pane showed last, before the session began. After a restart the row is believed until the
	// daemon has looked at the pane.
	glimpse glimpse
	// unready is since when the daemon has waited for the composer; the zero time: it does not. After a restart the daemon
	// says nothing of a composer that is not ready until [noteAfter] has passed once more.
	unreadySince time.Time
	// entered is the last Enter that the daemon pressed for a text. After a restart the daemon may press one more than
	// [maxEnters], and the time for the text to be taken counts from when it was typed.
	lastEnter press
	// acted is the rung of the stop ladder whose effect the daemon has had. After a restart the daemon has it once more: a
	// signal that is sent twice does no harm, and before a key the daemon looks at the registry or the screen.
	actedRung StopStage
	// measured says when the transcript was read for the use of the context. After a restart it is read once more.
	measured measurement
	// unknownTold: the operator was told that the use of the context is not known. After a restart the operator is told
	// once more.
	unknownTold bool

	fork forkMemory
}

// forkMemory is what this run remembers of the fork of an agent's session. The fork outlives the agent, and ends with the
// run: the next run forks the session anew.
type forkMemory struct {
	hasPlace    bool      // the fork runs, or is about to: it has one of the [maxForks] places
	oneShot     *fork     // runs, or has ended and waits to be read; nil: this run has started none
	committedAt time.Time // Handoff.ForkedAt, as this run has committed it last
}

// memories holds the memory of each agent. An entry is made when something is first remembered, and dropped when nothing is
// remembered any more; of an agent that has ended the agent's lane sees to that, with [memories.forget]. The mutex guards
// the map alone: it is held while fields are read or set, never across tmux, the database or a file.
type memories struct {
	mu     sync.Mutex
	agents map[int64]agentMemory
}

// of returns what is remembered of an agent.
func (ms *memories) of(agentID int64) agentMemory {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.agents[agentID]
}

// change has f change what is remembered of an agent. f runs under the mutex and only reads and sets fields.
func (ms *memories) change(agentID int64, f func(m *agentMemory)) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	ms.changeLocked(agentID, f)
}

func (ms *memories) changeLocked(agentID int64, f func(m *agentMemory)) {
	m := ms.agents[agentID]
	f(&m)
	if m == (agentMemory{}) {
		delete(ms.agents, agentID)
		return
	}
	ms.agents[agentID] = m
}

// forget drops what is remembered of an agent that has ended, but for its fork, which [Daemon.endFork] drops.
func (ms *memories) forget(agentID int64) {
	ms.change(agentID, func(m *agentMemory) { *m = agentMemory{fork: m.fork} })
}

// beginRun drops what ended with the run before: its goroutines and its forks.
func (ms *memories) beginRun() {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for id := range ms.agents {
		ms.changeLocked(id, func(m *agentMemory) { m.watched, m.fork = tmux.Process{}, forkMemory{} })
	}
}

// takeForkPlace gives an agent's fork one of the [maxForks] places, unless all are taken. It keeps the one that it has.
func (ms *memories) takeForkPlace(agentID int64) bool {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	taken := 0
	for id, m := range ms.agents {
		if m.fork.hasPlace && id != agentID {
			taken++
		}
	}
	if taken >= maxForks && !ms.agents[agentID].fork.hasPlace {
		return false
	}
	ms.changeLocked(agentID, func(m *agentMemory) { m.fork.hasPlace = true })
	return true
}

// ids returns the agents of which something is remembered that which asks for, the least id first.
func (ms *memories) ids(which func(m agentMemory) bool) (ids []int64) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for id, m := range ms.agents {
		if which(m) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
