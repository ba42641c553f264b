// Package lane runs work by key. It promises:
//
//   - Order. The work of one key runs one piece at a time. Different keys run at once, each in a goroutine of its own, and
//     in no order.
//   - Wakes. After each wake the key's work begins at least once more. Any number of wakes before it begins are one. A wake
//     carries nothing: work finds out by itself what is due, and it may be nothing.
//   - Back-pressure. There is none: Wake never blocks, and no limit holds a key back. Since wakes are not counted, a key
//     costs one entry however often it is woken.
//   - Shutdown. When Run returns, no work, no spawned function and no timer is left. Wakes that come while Run ends are
//     dropped with the timers: whoever calls Run again must wake what has something to do. Wakes that come while no Run is
//     under way are kept for the next one.
package lane

import (
	"context"
	"sync"
	"time"
)

// Lanes run the work of keys, as the package comment promises. They are safe for concurrent use.
type Lanes struct {
	do func(ctx context.Context, key int64) (again time.Duration)

	mu     sync.Mutex
	ctx    context.Context // of Run; nil while no Run is under way
	state  map[int64]*lane // of the keys that run, were woken, or have a timer
	active sync.WaitGroup  // the work that runs, and the spawned functions
}

// lane is the state of one key.
type lane struct {
	running bool
	woken   bool        // its work must begin once more: it was woken while it ran, or while no Run was under way
	timer   *time.Timer // wakes it, as its work has asked for; nil: nothing does
}

// New returns lanes whose work is do. do gets the context of Run. It returns after how long its key is to be woken if
// nobody has woken it before; 0: only a wake runs it again.
func New(do func(ctx context.Context, key int64) (again time.Duration)) *Lanes {
	return &Lanes{do: do, state: map[int64]*lane{}}
}

// Run lets work begin, that of the keys woken before it first. When ctx ends it waits for all work and all spawned
// functions to return, and forgets all keys. It may be called again after that, and not before.
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
	l.ctx, l.state = nil, map[int64]*lane{}
}

// Wake has a key's work begin once more: at once or, if it runs, as soon as it returns. A timer that was to wake the key
// is stopped.
func (l *Lanes) Wake(key int64) {
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

// startLocked starts a key's work, unless Run is ending. l.mu is held, a Run is under way and the key does not run.
func (l *Lanes) startLocked(key int64, ln *lane) {
	if l.ctx.Err() != nil {
		return
	}
	ln.running, ln.woken = true, false
	l.active.Go(func() { l.work(key, ln) })
}

// work runs a key's work until nobody has woken the key meanwhile, or Run is ending.
func (l *Lanes) work(key int64, ln *lane) {
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
// is under way, and while one is ending, Spawn drops f: nobody would wait for it. What f was to notice must be found by
// the work that the next Run does.
func (l *Lanes) Spawn(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx != nil && l.ctx.Err() == nil {
		l.active.Go(f)
	}
}

// Woken returns the keys that were woken and whose work has not begun since, in no order.
func (l *Lanes) Woken() []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var keys []int64
	for key, ln := range l.state {
		if ln.woken {
			keys = append(keys, key)
		}
	}
	return keys
}
