package stories

import (
	"sync"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
)

// A story looks again whenever a daemon in this process has committed something. Three things change without such a
// commit: what is no row (a screen, a file, a process), the rows of a daemon in another process, and everything while
// a private database is away. For these a story also looks at each tick.
const (
	tickOfCommits = 40 * time.Millisecond
	tickOfScreens = 120 * time.Millisecond // each look is a process of tmux
)

// await looks until ok returns true. When it fails, it says what it waited for.
func (r *rig) await(what string, ok func() (bool, string)) {
	r.t.Helper()
	r.awaitEvery(tickOfCommits, what, ok)
}

func (r *rig) awaitEvery(every time.Duration, what string, ok func() (bool, string)) {
	r.t.Helper()
	var tick *time.Ticker
	deadline := time.After(cmdtest.Eventually)
	for {
		moved := r.nextCommit() // It is taken before the look, so that no commit in between is missed.
		done, last := ok()
		if done {
			return
		}
		if tick == nil {
			tick = time.NewTicker(every)
			defer tick.Stop()
		}
		select {
		case <-moved:
		case <-tick.C:
		case <-deadline:
			r.t.Fatalf("%s did not happen within %s: %s\n%s", what, cmdtest.Eventually, last, r.report())
		}
	}
}

// private reports whether the daemon has a database of its own, which a story may kill.
func (r *rig) private() bool { return r.cfg.Settings.DatabaseURL == "" }

// nextCommit is closed when one of the rig's daemons in this process next commits something. With a private database
// it is never closed.
func (r *rig) nextCommit() <-chan struct{} {
	if r.private() {
		return nil
	}
	return r.commits.next()
}

// bell rings at each commit.
type bell struct {
	mu    sync.Mutex
	rings chan struct{} // closed at the next commit
}

func newBell() *bell { return &bell{rings: make(chan struct{})} }

func (b *bell) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rings
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.rings)
	b.rings = make(chan struct{})
}
