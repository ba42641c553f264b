package sight

import (
	"sync/atomic"
	"time"

	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/tmux"
)

// Sight is what pane, registry and transcript show of an agent, and who its process is. Its methods are safe for concurrent use.
type Sight struct {
	*engine.Engine
	Accounts  accounts
	fileLooks chan struct{} // holds a value for each look at a file for a hook, even if the look hangs
	heading   atomic.Bool   // a LookAtHeads runs
	memories  engine.Memory[sightMemory]
}

// New makes a sight on an engine.
func New(e *engine.Engine) *Sight {
	if e.Registry == nil {
		e.Registry = readEntry
	}
	if e.Environment == nil {
		e.Environment = processEnviron
	}
	environ := func(p tmux.Process) ([]string, error) {
		environ, err := e.Environment(p.PID)
		if err == nil && !e.Lives(p) { // another process may have its number
			err = tmux.ErrNoProcess
		}
		return environ, err
	}
	s := &Sight{Engine: e, Accounts: accounts{data: e.Data, Environ: environ}, fileLooks: make(chan struct{}, FileLooks)}
	engine.Remember(e, &s.memories)
	return s
}

// sightMemory is what a Sight remembers about one agent: see [engine.Memory].
type sightMemory struct {
	// watched is the process whose end a goroutine waits for. The next run of the daemon starts a new goroutine.
	watched tmux.Process
	// sighting is what the runtime's registry said last. After a restart the registry must say the same for another
	// [Settle] before it overrules the hooks.
	sighting sighting
	// glimpse is what the pane showed last, before the session began. After a restart the daemon believes the row until it
	// has looked at the pane.
	glimpse Glimpse
	// unreadySince is when the daemon began to wait for the composer; the zero time: it does not wait. After a restart
	// [NoteAfter] must pass once more before the daemon says that the composer is not ready.
	unreadySince time.Time
	// followed is the process whose server a goroutine follows. The next run of the daemon starts a new goroutine.
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
	// silence is for how long the server has not answered when it was given a text. After a restart the daemon counts anew.
	silence silence
	// held counts the hooks of a person's /handoff whose answers wait for the document. While it is not 0, the runtime is busy
	// with the hook alone. After a restart the hook's command asks again within a second.
	held int
	// headAt is when the daemon last looked which branch is checked out in the agent's directory. After a restart it looks again.
	headAt time.Time
	// answeredAt is when the agent went on after its last permission was answered. After a restart a late Notification may tell of
	// the dialog once more, until the registry says that it is closed.
	answeredAt time.Time
}
