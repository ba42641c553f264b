package engine

import (
	"slices"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/personas"
	"github.com/understudyd/understudy/tmux"
)

// agentMemory is what the daemon remembers about one agent without storing it. No row depends on it, so a daemon that
// restarts begins without it. Each field says what the daemon does after a restart.
type agentMemory struct {
	// watched is the process whose end a goroutine waits for. The next [Daemon.Run] starts a new goroutine.
	watched tmux.Process
	// sighting is what the runtime's registry said last. After a restart the registry must say the same for another
	// [settle] before it overrules the hooks.
	sighting sighting
	// glimpse is what the pane showed last, before the session began. After a restart the daemon believes the row until it
	// has looked at the pane.
	glimpse glimpse
	// unreadySince is when the daemon began to wait for the composer; the zero time: it does not wait. After a restart
	// [NoteAfter] must pass once more before the daemon says that the composer is not ready.
	unreadySince time.Time
	// lastEnter is the last Enter that the daemon pressed for a text. After a restart the daemon may press Enter once
	// more than [maxEnters] allows, and ack_timeout counts from when the text was typed.
	lastEnter press
	// pasted is what the daemon knows of the text that was pasted last. After a restart it does not know of a dialog over that
	// text: the text then gets the verdict that evidence allows.
	pasted pasted
	// actedRung is the last rung of the stop ladder that the daemon acted on. After a restart the daemon acts on that
	// rung once more. This does no harm: a signal may be sent twice, and before it presses a key the daemon looks at the
	// registry or the screen.
	actedRung daemon.StopStage
	// exitRefused is the record after which the agent was given work, as its server has said when it was asked to exit. After a
	// restart the daemon asks the server again.
	exitRefused handoffRecord
	// measured says whether the transcript was read after the last turn. After a restart the daemon reads it once more.
	measured measurement
	// followed is the process whose server a goroutine follows. The next [Daemon.Run] starts a new goroutine.
	followed tmux.Process
	// tail is how far the transcript was read for what no hook reports. After a restart the daemon reads its end again; what
	// it reports counts once.
	tail tail
	// limitKeys is how many keys the daemon has pressed in the dialog about a usage limit that is open. It counts anew for a dialog that
	// has opened after the turn that the limit has ended, at the time limited, and after a restart.
	limitKeys int
	limited   time.Time
	// quiet is since when the screen shows the same, for a runtime that tells nothing. After a restart the daemon counts anew.
	quiet quiet
	// still is since when the screen has shown no turn although one should run. After a restart the daemon counts anew.
	still still
	// shown is the dialog that the screen shows. After a restart the one that is seen first is taken for the one of the row.
	shown namedDialog
	// unread is since when no look at the screen has shown anything. After a restart the daemon counts anew.
	unread unread
	// sent is the delivery that this daemon sent by a way beside the composer. After a restart, a text that the session has is
	// not sent once more, whenever it was submitted: the daemon does not know whether the clock was set back.
	sent int64
	// silence is for how long the server has not answered when it was given a text. After a restart the daemon counts anew.
	silence silence
	// held counts the hooks of a person's /handoff whose answers wait for the document. While it is not 0, the runtime is busy
	// with the hook alone. After a restart the hook's command asks again within a second.
	held int
	// unknownTold says that the operator was told that the context use is unknown. After a restart the daemon tells it
	// once more.
	unknownTold bool
	// headAt is when the daemon last looked which branch is checked out in the agent's directory. After a restart it looks again.
	headAt time.Time
	// answeredAt is when the agent went on after its last permission was answered. After a restart a late Notification may tell of
	// the dialog once more, until the registry says that it is closed.
	answeredAt time.Time
	// heldBy is the budget by which the agent is held. After a restart the lane looks at the budget again.
	heldBy personas.Budget

	// lineShown is the line that was noted on the agent's pane, lineTried the one that was to be noted at lineAt. After a
	// restart the daemon notes the line once more.
	lineShown, lineTried tmux.Line
	lineAt               time.Time
	// said says that the person's pane from which the agent's work came was told who goes on. After a restart it is told again.
	said bool

	// read is how far the transcript was read for whether the agent has read its handoff; nil: not at all. After a restart
	// the daemon reads it from its beginning.
	read *readSoFar

	// usage is how far the transcripts were counted. After a restart the daemon reads that from the rows.
	usage *usageMemory

	fork forkMemory
}

// forkMemory is what a [Daemon.Run] remembers about the fork of an agent's session. The fork may outlive the agent, but
// not the Run. The next Run forks the session anew.
type forkMemory struct {
	hasPlace    bool      // the fork runs or is about to, and has one of the [maxForks] places
	oneShot     *fork     // the fork, which runs or waits to be read; nil: none was started
	committedAt time.Time // the last Handoff.ForkedAt that was committed since Run began
}

// memories holds the memory of each agent. [memories.change] makes an entry when something is first remembered, and drops
// it when all its fields are zero. When an agent has ended, its lane calls [memories.forget]. The mutex guards only the
// map: it is held while fields are read or set, never across tmux, the database or a file.
type memories struct {
	mu     sync.Mutex
	agents map[int64]agentMemory
}

// of returns what is remembered about an agent.
func (ms *memories) of(agentID int64) agentMemory {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.agents[agentID]
}

// change lets f change what is remembered about an agent. f runs under the mutex, and must only read and set fields.
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

// forget drops what is remembered about an agent that has ended. It keeps the fork, which [Daemon.endFork] drops.
func (ms *memories) forget(agentID int64) {
	ms.change(agentID, func(m *agentMemory) { *m = agentMemory{fork: m.fork} })
}

// beginRun drops the watched processes and the forks, because their goroutines and forks ended with the previous Run.
func (ms *memories) beginRun() {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for id := range ms.agents {
		ms.changeLocked(id, func(m *agentMemory) { m.watched, m.followed, m.fork = tmux.Process{}, tmux.Process{}, forkMemory{} })
	}
}

// takeForkPlace gives an agent's fork one of the [maxForks] places. It returns false if forks of other agents have them
// all.
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

// ids returns the agents whose memory matches, in the order of their ids.
func (ms *memories) ids(matches func(m agentMemory) bool) (ids []int64) {
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
