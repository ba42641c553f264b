// Package lane runs work in order where it must be in order: one piece at a time for each key, different keys at once.
package lane

import (
	"context"
	"sync"
	"time"
)

// Lanes run work by key: one piece at a time for each key, different keys at once. A wake that
// comes while the key's work runs makes it run once more afterwards, so none is lost; any number
// of wakes before a run are one. A waker never blocks.
type Lanes struct {
	do func(ctx context.Context, key int64) (again time.Duration)

	mu     sync.Mutex
	ctx    context.Context // nil until run
	state  map[int64]*lane
	active sync.WaitGroup
}

type lane struct {
	running bool
	dirty   bool // woken while running, or before run was called
	timer   *time.Timer
}

func New(do func(ctx context.Context, key int64) time.Duration) *Lanes {
	return &Lanes{do: do, state: map[int64]*lane{}}
}

// Run lets work begin, and waits for ctx and for all running work to end.
func (l *Lanes) Run(ctx context.Context) {
	l.mu.Lock()
	l.ctx = ctx
	for key, ln := range l.state {
		if ln.dirty {
			l.startLocked(key, ln)
		}
	}
	l.mu.Unlock()
	<-ctx.Done()
	l.mu.Lock()
	for _, ln := range l.state {
		if ln.timer != nil {
			ln.timer.Stop()
		}
	}
	l.mu.Unlock()
	l.active.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ctx, l.state = nil, map[int64]*lane{}
}

func (l *Lanes) Wake(key int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.state[key]
	if ln == nil {
		ln = &lane{}
		l.state[key] = ln
	}
	if ln.timer != nil {
		ln.timer.Stop()
		ln.timer = nil
	}
	if ln.running || l.ctx == nil {
		ln.dirty = true
		return
	}
	l.startLocked(key, ln)
}

// startLocked starts the key's work; l.mu is held and the lane is not running.
func (l *Lanes) startLocked(key int64, ln *lane) {
	if l.ctx.Err() != nil {
		return
	}
	ln.running, ln.dirty = true, false
	l.active.Go(func() { l.work(key, ln) })
}

func (l *Lanes) work(key int64, ln *lane) {
	for {
		again := l.do(l.ctx, key)
		l.mu.Lock()
		if ln.dirty && l.ctx.Err() == nil {
			ln.dirty = false
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

// Spawn runs f in a goroutine that run waits for.
func (l *Lanes) Spawn(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil || l.ctx.Err() != nil {
		return
	}
	l.active.Go(f)
}

// Woken returns the keys that were woken and whose work has not begun, in no order.
func (l *Lanes) Woken() []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var keys []int64
	for key, ln := range l.state {
		if ln.dirty {
			keys = append(keys, key)
		}
	}
	return keys
}
