package sim

import (
	"cmp"
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing/synctest"
	"time"
)

// owner is on whose behalf a goroutine makes its calls: a run of a daemon, the process of an agent or of a hook, or the
// world itself. When an owner is dead, its calls are not carried out any more, and their goroutines end.
type owner struct {
	name string
	host *host // the host on which it runs; nil for none

	dead   bool      // guarded by schedule.mu
	frozen time.Time // the schedule lets none of its calls go before
}

// awake returns when the schedule may let the owner's calls go again.
func (o *owner) awake() time.Time {
	if o.host != nil && o.host.asleep.After(o.frozen) {
		return o.host.asleep
	}
	return o.frozen
}

// call is one call across a seam of daemon.Config, or one act of the world. It waits until the schedule lets it go.
type call struct {
	own  *owner
	who  string               // which part of the owner calls, such as a lane
	what string               // the method, with the arguments that distinguish calls
	kind kind                 // which faults it can have
	ctx  context.Context      // if set, the call ends early with it
	slow func() time.Duration // if set, how long it takes

	key   string     // distinguishes it from the other calls that wait
	due   time.Time  // when it may be let go
	order chan order // buffered with room for one
}

// abandoned reports whether the caller does not wait any longer.
func (c *call) abandoned() bool { return c.ctx != nil && c.ctx.Err() != nil }

// order is what the schedule decides about a call that it lets go.
type order struct {
	die   bool  // the owner is dead, so the goroutine must end
	fault fault // what goes wrong with the call
	cut   error // why the caller waits no longer; with the fault lostAnswer the call is carried out all the same
}

// schedule alone decides which goroutine goes on. It decides only when all others are blocked. Between two decisions one
// goroutine runs that it has let go; goroutines that this one wakes run no further than to their own first call.
type schedule struct {
	rng   *rand.Rand
	trace *trace
	plan  *plan
	// inject, if set, decides in place of the plan what goes wrong with a call.
	inject func(c *call) fault
	// delay, if set, returns how much longer a call takes.
	delay func(c *call) time.Duration
	poke  chan struct{}
	calls int       // how many calls were let go
	at    time.Time // when the newest was
	still int       // how many were let go at that time
	stuck bool      // too many were let go: a loop

	mu      sync.Mutex
	arrived []*call
	parked  []*call
	ready   []int // indexes of the parked calls that are due; kept to reuse its memory
}

func newSchedule(seed uint64, tr *trace) *schedule {
	s := &schedule{rng: generator(seed, "schedule"), trace: tr, poke: make(chan struct{}, 1)}
	s.plan = newPlan(generator(seed, "plan"))
	return s
}

// generator returns a random generator that depends only on the seed and on the name of its user.
func generator(seed uint64, who string) *rand.Rand {
	var h uint64 = 14695981039346656037
	for _, b := range []byte(who) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h))
}

// between draws a duration.
func between(rng *rand.Rand, lo, hi time.Duration) time.Duration {
	if hi <= lo {
		return lo
	}
	return lo + time.Duration(rng.Int64N(int64(hi-lo)))
}

// park waits until the schedule lets the call go. If the owner is dead, it ends the goroutine.
func (s *schedule) park(c *call) order {
	c.order, c.key = make(chan order, 1), c.own.name+" "+c.who+" "+c.what
	s.mu.Lock()
	if c.own.dead {
		s.mu.Unlock()
		runtime.Goexit()
	}
	s.arrived = append(s.arrived, c)
	s.mu.Unlock()
	s.wake()
	if c.ctx != nil && c.ctx.Done() != nil {
		defer context.AfterFunc(c.ctx, s.wake)()
	}
	o := <-c.order
	if o.die {
		runtime.Goexit()
	}
	return o
}

func (s *schedule) wake() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// kill ends an owner. Its goroutines end at once if they wait in a call, else at their next call.
func (s *schedule) kill(o *owner) {
	s.mu.Lock()
	o.dead = true
	var ended []*call
	gone := func(c *call) bool {
		if c.own == o {
			ended = append(ended, c)
		}
		return c.own == o
	}
	s.arrived = slices.DeleteFunc(s.arrived, gone)
	s.parked = slices.DeleteFunc(s.parked, gone)
	s.mu.Unlock()
	for _, c := range ended {
		c.order <- order{die: true}
	}
}

// run lets calls go until over is true. It decides whenever all other goroutines are blocked.
func (s *schedule) run(over func() bool) {
	for {
		synctest.Wait()
		select {
		case <-s.poke: // the calls that poked are parked now
		default:
		}
		s.admit()
		if over() {
			return
		}
		c, next := s.choose()
		if c == nil {
			s.idle(next)
			continue
		}
		s.calls++
		if now := time.Now(); now.Equal(s.at) {
			s.still++
		} else {
			s.at, s.still = now, 0
		}
		if s.still > mostStill || s.calls > mostCalls {
			s.stuck = true
			c.order <- order{die: true}
			return
		}
		c.order <- s.decide(c)
	}
}

// mostStill is how many calls may be let go while no time passes. More mean a loop that nothing slows down. A machine that wakes after an
// hour answers all requests of that hour at once.
const mostStill = 8000

// mostCalls is how many calls a run may have. Most runs have some thousands; more than this mean a loop that hardly
// anything slows down.
const mostCalls = 100_000

// idle waits for another call, or until next, when the first parked call is due.
func (s *schedule) idle(next time.Time) {
	wait := time.Hour
	if !next.IsZero() {
		wait = time.Until(next)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-s.poke:
	case <-timer.C:
	}
}

// admit moves the calls that have arrived to the parked ones and draws how long each takes. It orders them by their keys,
// because which goroutine arrives first differs from run to run.
func (s *schedule) admit() {
	s.mu.Lock()
	came := s.arrived
	s.arrived = nil
	s.mu.Unlock()
	slices.SortStableFunc(came, func(a, b *call) int { return cmp.Compare(a.key, b.key) })
	now := time.Now()
	for _, c := range came {
		if c.slow != nil {
			c.due = now.Add(c.slow())
		} else {
			c.due = now.Add(s.plan.latency(s.rng, c))
		}
		if s.delay != nil {
			c.due = c.due.Add(s.delay(c))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range came {
		i, _ := slices.BinarySearchFunc(s.parked, c.key, func(p *call, key string) int {
			return cmp.Or(cmp.Compare(p.key, key), -1) // behind earlier calls with the same key
		})
		s.parked = slices.Insert(s.parked, i, c)
	}
}

// choose draws one of the calls that are due. If none is due, next is when the first will be.
func (s *schedule) choose() (c *call, next time.Time) {
	now := time.Now()
	ready := s.ready[:0]
	for i, c := range s.parked {
		at := c.due
		if at.After(now) && c.abandoned() {
			at = now
		}
		if awake := c.own.awake(); awake.After(at) {
			at = awake
		}
		switch {
		case !at.After(now):
			ready = append(ready, i)
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	s.ready = ready
	if len(ready) == 0 {
		return nil, next
	}
	i := ready[s.rng.IntN(len(ready))]
	c = s.parked[i]
	s.mu.Lock()
	s.parked = slices.Delete(s.parked, i, i+1)
	s.mu.Unlock()
	return c, time.Time{}
}

// decide draws the order for a call, and adds both to the trace.
func (s *schedule) decide(c *call) order {
	var o order
	if c.abandoned() {
		o.cut = context.Cause(c.ctx)
		if s.rng.IntN(2) == 0 || s.inject != nil && s.inject(c) == lostAnswer {
			o.fault = lostAnswer // the call is carried out, but nobody waits for the answer
		}
	} else {
		o.fault = s.plan.fault(s.rng, c)
		if s.inject != nil {
			o.fault = s.inject(c)
		}
	}
	s.trace.call(c, o)
	return o
}
