package lane

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// bench has lanes at work in a bubble, and notes what they do.
type bench struct {
	*Lanes
	t     *testing.T
	began time.Time

	mu   sync.Mutex
	done []string // "key at time", in the order in which pieces of work began
	now  int      // pieces of work that run
	most int      // the most that ran at once
}

// newBench makes lanes whose work is to take a second, after which it asks for what again says.
func newBench(t *testing.T, again func(key Key) time.Duration) *bench {
	b := &bench{t: t, began: time.Now()}
	b.Lanes = New(func(_ context.Context, key Key) time.Duration {
		b.mu.Lock()
		b.done = append(b.done, fmt.Sprintf("%d at %s", key.ID, time.Since(b.began)))
		b.now++
		b.most = max(b.most, b.now)
		b.mu.Unlock()
		<-time.After(time.Second)
		b.mu.Lock()
		b.now--
		b.mu.Unlock()
		if again == nil {
			return 0
		}
		return again(key)
	})
	return b
}

// run has Run at work until end is called, which returns when Run has.
func (b *bench) run() (end func()) {
	ctx, cancel := context.WithCancel(b.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.Run(ctx)
	}()
	synctest.Wait()
	return func() {
		cancel()
		<-ended
	}
}

// of returns the key of an agent.
func of(id int64) Key { return Key{Kind: "agent", ID: id} }

// pass lets time go by.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// did fails unless exactly this work has begun.
func (b *bench) did(want ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	equal(b.t, "did", b.done, want)
}

func TestWakesDuringWorkRunItOnceMoreAndNeverTwiceAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		defer b.run()()
		for range 3 {
			b.Wake(of(1))
			pass(100 * time.Millisecond)
		}
		pass(time.Minute)
		b.did("1 at 0s", "1 at 1s")
		equal(t, "pieces of work of one key ran at once", b.most, 1)
		b.Wake(of(1))
		pass(time.Minute)
		b.did("1 at 0s", "1 at 1s", "1 at 1m0.3s")
		equal(t, "keys with nothing to do are remembered", len(b.state), 0)
	})
}

func TestDifferentKeysRunAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		defer b.run()()
		for key := range int64(5) {
			b.Wake(of(key))
		}
		pass(time.Minute)
		equal(t, "keys ran at once", b.most, 5)
	})
}

func TestWakesBeforeRunAreOneWakeWhenItBegins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.Wake(of(1))
		b.Wake(of(1))
		pass(time.Minute)
		b.did()
		equal(t, "woken", b.Woken(), []Key{of(1)})
		defer b.run()()
		pass(time.Minute)
		b.did("1 at 1m0s")
		if got := b.Woken(); got != nil {
			t.Errorf("woken %v after its work began", got)
		}
	})
}

func TestWorkRunsAgainWhenItHasAskedForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		left := 1
		b := newBench(t, func(Key) time.Duration {
			left--
			return time.Duration(max(left+1, 0)) * time.Minute
		})
		defer b.run()()
		b.Wake(of(1))
		pass(time.Hour)
		b.did("1 at 0s", "1 at 1m1s")
	})
}

func TestWakeReplacesTheTimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(Key) time.Duration { return time.Minute })
		defer b.run()()
		b.Wake(of(1))
		pass(31 * time.Second)
		b.Wake(of(1))
		pass(time.Minute)
		b.did("1 at 0s", "1 at 31s")
		pass(2 * time.Second)
		b.did("1 at 0s", "1 at 31s", "1 at 1m32s")
	})
}

func TestRunReturnsWhenAllWorkHas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(Key) time.Duration { return time.Minute })
		end := b.run()
		spawned := false
		b.Spawn(func() {
			<-time.After(10 * time.Second)
			spawned = true
		})
		b.Wake(of(1))
		b.Wake(of(1)) // while it runs: its work does not begin once more when Run is ending
		end()
		if took := time.Since(b.began); took != 10*time.Second || !spawned || b.now != 0 {
			t.Errorf("returned after %s; the spawned function has returned: %t; work that runs: %d", took, spawned, b.now)
		}
		b.did("1 at 0s")
	})
}

func TestTimersAndWakesOfARunEndWithIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(key Key) time.Duration { return time.Duration(key.ID) * time.Minute })
		end := b.run()
		b.Wake(of(1)) // leaves a timer
		pass(2 * time.Second)
		b.Wake(of(3)) // holds up the end of Run for a second, and asks for a timer then
		go func() {
			<-time.After(time.Millisecond)
			b.Wake(of(3))
			b.Wake(of(2))
			b.Spawn(func() { t.Error("spawned while Run was ending") })
		}()
		end()
		pass(time.Hour)
		defer b.run()()
		pass(time.Hour)
		b.did("1 at 0s", "3 at 2s")
	})
}

func TestRunAfterRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.Spawn(func() { t.Error("spawned before Run") })
		b.run()()
		b.Spawn(func() { t.Error("spawned after Run") })
		b.Wake(of(1))
		pass(time.Minute)
		b.did()
		equal(t, "woken … between two Runs", b.Woken(), []Key{of(1)})
		defer b.run()()
		b.Wake(of(2))
		pass(time.Minute)
		slices.Sort(b.done)
		b.did("1 at 1m0s", "2 at 1m0s")
		spawned := false
		b.Spawn(func() { spawned = true })
		synctest.Wait()
		if !spawned {
			t.Error("nothing can be spawned in the second Run")
		}
	})
}

var equal = wardentest.Equal
