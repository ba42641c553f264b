package main

import (
	"context"
	"sync"
	"time"

	"github.com/understudyd/understudy/db"
)

// A story looks again whenever a daemon has committed something. What is no row (a screen, a file, a
// process) changes between commits, and a private database may be away: that is what the ticks are for.
const (
	tickOfCommits = 40 * time.Millisecond
	tickAlone     = 10 * time.Millisecond
)

// await looks until ok returns true. What it waits for is said when it fails.
func (r *rig) await(what string, ok func() (bool, string)) {
	r.t.Helper()
	var tick *time.Ticker
	began, deadline := time.Now(), time.After(eventually)
	for {
		moved := r.nextCommit() // taken before the look, so that none is missed in between
		done, last := ok()
		if done {
			return
		}
		if tick == nil {
			every := tickOfCommits
			if r.private() {
				every = tickAlone
			}
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
			r.t.Fatalf("%s did not happen within %s: %s\n%s", what, eventually, last, r.report())
		}
	}
}

// nextTick is how long a story in memory waits for what is no commit: the longer, the longer it has waited.
// Its time costs nothing, but each look does.
func nextTick(waited time.Duration) time.Duration { return min(max(tickAlone, waited/4), time.Second) }

// private reports whether the daemon has a database of its own, which a story may end.
func (r *rig) private() bool { return r.memory == nil && r.cfg.Settings.DatabaseURL == "" }

// nextCommit is closed when any daemon next commits something in the rig's database; with a private
// one it never is.
func (r *rig) nextCommit() <-chan struct{} {
	r.t.Helper()
	if r.private() {
		return nil
	}
	if r.memory != nil {
		return r.memory.base.next()
	}
	r.mu.Lock()
	moved := r.moved
	r.mu.Unlock()
	if moved != nil {
		return moved
	}
	return r.listen()
}

// listen has each commit close the channel of [rig.nextCommit], until the test ends.
func (r *rig) listen() <-chan struct{} {
	r.t.Helper()
	store, err := r.openDB(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	host, err := r.dir.HostID()
	if err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.moved != nil { // another goroutine was faster
		return r.moved
	}
	r.moved = make(chan struct{})
	ring := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		close(r.moved)
		r.moved = make(chan struct{})
	}
	ctx, cancel := context.WithCancel(context.Background())
	var listening sync.WaitGroup
	listening.Go(func() {
		_ = store.Listen(ctx, host, db.Listener{Wake: func(int64) { ring() }, Events: ring}) // always the context's end
	})
	r.t.Cleanup(func() {
		cancel()
		listening.Wait()
	})
	return r.moved
}
