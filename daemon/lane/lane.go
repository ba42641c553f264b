// Package lane runs work by key. It promises:
//
//   - Order. The work of one key never runs twice at once. The work of different keys runs at once, each in a goroutine of
//     its own, and in no order.
//   - Wakes. After each call of Wake, the key's work begins at least once more. Several wakes before that beginning count as
//     one. A wake carries no data: the work itself looks for what is due, and may find nothing.
//   - Back-pressure. There is none: Wake never blocks, and no limit delays a key. A key costs one entry however often it is
//     woken, because wakes are not counted.
//   - Shutdown. When Run returns, no work, no spawned function and no timer is left. Run drops its timers, and the wakes
//     that come while it ends. So a caller that calls Run again must wake every key that has something to do. Wakes that
//     come while no Run is under way are kept for the next Run.
package lane

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Key names a lane: what kind of thing it works for, and which one.
type Key struct {
	Kind string // in words, such as "agent"
	ID   int64  // 0: there is only one of the kind
}

// String names the lane as people are told of it: "agent 7", "sweep".
func (k Key) String() string {
	if k.ID == 0 {
		return k.Kind
	}
	return fmt.Sprintf("%s %d", k.Kind, k.ID)
}

// Lanes run the work of keys, as the package comment promises. They are safe for concurrent use.
type Lanes struct {
	do func(ctx context.Context, key Key) (again time.Duration)

	mu     sync.Mutex
	ctx    context.Context // the context of Run; nil while no Run is under way
	state  map[Key]*lane   // by key; only keys that run, were woken, or have a timer
	active sync.WaitGroup  // counts the work that runs, and the spawned functions
}

// lane is the state of one key.
type lane struct {
	running bool
	woken   bool        // the work must begin once more: the key was woken while it ran, or while no Run was under way
	timer   *time.Timer // wakes the key after the time that its work has returned; nil: there is no timer
}

// New returns lanes whose work is do. do gets the context of Run and the key. A timer wakes the key again after the time
// that do returns, unless Wake is called before. If do returns 0, only Wake runs it again.
func New(do func(ctx context.Context, key Key) (again time.Duration)) *Lanes {
	return &Lanes{do: do, state: map[Key]*lane{}}
}

// Run lets work begin. It first starts the work of the keys that were woken before Run was called. When ctx ends, Run
// waits until all work and all spawned functions have returned, and forgets all keys. Only one Run may be under way.
func (l *Lanes) Run(ctx context.Context) {
	l.mu.Lock()
	l.ctx = ctx
	for key, ln := range l.state {
		l.startLocked(key, ln)
	}
	l.mu.Unlock()
	<-ctx.Done()
	l.mu.Lock()
	for _, ln := range l.state {
		ln.stopTimer()
	}
	l.mu.Unlock()
	l.active.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ctx, l.state = nil, map[Key]*lane{}
}

// Wake makes a key's work begin once more: at once, or as soon as the work that runs now returns. It stops the key's timer.
func (l *Lanes) Wake(key Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.state[key]
	if ln == nil {
		ln = &lane{}
		l.state[key] = ln
	}
	ln.stopTimer()
	if ln.running || l.ctx == nil {
		ln.woken = true
		return
	}
	l.startLocked(key, ln)
}

func (ln *lane) stopTimer() {
	if ln.timer != nil {
		ln.timer.Stop()
		ln.timer = nil
	}
}

// startLocked starts a key's work, unless Run is ending. The caller holds l.mu, a Run is under way, and the key does not
// run.
func (l *Lanes) startLocked(key Key, ln *lane) {
	if l.ctx.Err() != nil {
		return
	}
	ln.running, ln.woken = true, false
	l.active.Go(func() { l.work(key, ln) })
}

// work runs a key's work, and runs it again as long as the key was woken meanwhile. It stops when Run is ending.
func (l *Lanes) work(key Key, ln *lane) {
	for {
		again := l.do(l.ctx, key)
		l.mu.Lock()
		if ln.woken && l.ctx.Err() == nil {
			ln.woken = false
			l.mu.Unlock()
			continue
		}
		ln.running = false
		switch {
		case l.ctx.Err() != nil:
		case again > 0:
			ln.timer = time.AfterFunc(again, func() { l.Wake(key) })
		default:
			delete(l.state, key)
		}
		l.mu.Unlock()
		return
	}
}

// Spawn runs f at once, in a goroutine for which Run waits. f must return soon after the context of Run ends. While no Run
// is under way, and while a Run is ending, Spawn drops f, because nobody would wait for it. So the work of the next Run
// must find by itself whatever f was meant to notice.
func (l *Lanes) Spawn(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx != nil && l.ctx.Err() == nil {
		l.active.Go(f)
	}
}

// Woken returns the keys that were woken and whose work has not begun since, in no order.
func (l *Lanes) Woken() []Key {
	l.mu.Lock()
	defer l.mu.Unlock()
	var keys []Key
	for key, ln := range l.state {
		if ln.woken {
			keys = append(keys, key)
		}
	}
	return keys
}
