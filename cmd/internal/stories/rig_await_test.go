package stories

import (
	"sync"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
)

// A story looks again whenever a daemon in this process has committed something. What is no row (a screen, a file, a
// process) changes between commits, those of another process are not heard of, and a private database may be away: that
// is what the ticks are for.
const (
	tickOfCommits = 40 * time.Millisecond
	tickOfScreens = 120 * time.Millisecond // each look is a process of tmux
	tickInMemory  = 10 * time.Millisecond
)

// await looks until ok returns true. What it waits for is said when it fails.
func (r *rig) await(what string, ok func() (bool, string)) {
	r.t.Helper()
	r.awaitEvery(tickOfCommits, what, ok)
}

func (r *rig) awaitEvery(every time.Duration, what string, ok func() (bool, string)) {
	r.t.Helper()
	var tick *time.Ticker
	began, deadline := time.Now(), time.After(cmdtest.Eventually)
	for {
		moved := r.nextCommit() // taken before the look, so that none is missed in between
		done, last := ok()
		if done {
			return
		}
		if tick == nil {
			tick = time.NewTicker(every)
			defer tick.Stop()
		}
		if r.memory != nil {
			tick.Reset(nextTick(time.Since(began)))
		}
		select {
		case <-moved:
		case <-tick.C:
		case <-deadline:
			r.t.Fatalf("%s did not happen within %s: %s\n%s", what, cmdtest.Eventually, last, r.report())
		}
	}
}

// nextTick is how long a story in memory waits for what is no commit: the longer, the longer it has waited.
// Its time costs nothing, but each look does.
func nextTick(waited time.Duration) time.Duration {
	return min(max(tickInMemory, waited/4), time.Second)
}

// private reports whether the daemon has a database of its own, which a story may end.
func (r *rig) private() bool { return r.memory == nil && r.cfg.Settings.DatabaseURL == "" }

// nextCommit is closed when a daemon of the rig in this process next commits something; with a private database it
// never is.
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
