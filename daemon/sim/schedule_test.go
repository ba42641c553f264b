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

// owner is on whose behalf calls are made: a run of a daemon, the process of an agent or of a hook, or the
// world itself. When it is dead its calls are not carried out any more, and their goroutines end.
type owner struct {
	name string
	host *host // whose machine it runs on; nil: none

	dead   bool      // guarded by schedule.mu
	frozen time.Time // nothing of it is let go before; set by who runs alone
}

// awake is when the owner's calls may be let go again.
func (o *owner) awake() time.Time {
	if o.host != nil && o.host.asleep.After(o.frozen) {
		return o.host.asleep
	}
	return o.frozen
}

// call is one call across a seam, or one act of the world. It waits until the schedule lets it go.
type call struct {
	own  *owner
	who  string          // of the owner
	what string          // the method, with what tells one call from another
	kind kind            // what may go wrong with it
	ctx  context.Context // nil: nothing cuts it off
	slow func() time.Duration

	key   string // tells it from the others that wait
	due   time.Time
	order chan order // has room for one
}

// over reports whether the caller does not wait any longer.
func (c *call) over() bool { return c.ctx != nil && c.ctx.Err() != nil }

// order is what becomes of a call that is let go.
type order struct {
	die   bool  // its owner is dead
	fault fault // what goes wrong with it
	cut   error // the caller waits no longer; it is carried out all the same if fault says so
}

// schedule decides alone who goes on. Everybody else is blocked whenever it decides, so that of all that runs
// between two decisions only one goroutine has been let go; what its wakes have started runs no further than to
// its own first call.
type schedule struct {
	rng   *rand.Rand
	trace *trace
	plan  *plan
	// inject, if set, is asked before the plan what goes wrong with a call.
	inject func(c *call) fault
	// delay, if set, is how much longer a call takes.
	delay func(c *call) time.Duration
	poke  chan struct{}
	steps int
	at    time.Time // of the newest step
	still int       // steps at that time
	stuck bool      // there were too many of them

	mu      sync.Mutex
	arrived []*call
	parked  []*call
	ready   []int // room for those of parked that are due
}

func newSchedule(seed uint64, tr *trace) *schedule {
	s := &schedule{rng: generator(seed, "schedule"), trace: tr, poke: make(chan struct{}, 1)}
	s.plan = newPlan(generator(seed, "plan"))
	return s
}

// generator returns the numbers that a seed holds for somebody.
func generator(seed uint64, who string) *rand.Rand {
	var h uint64 = 14695981039346656037
	for _, b := range []byte(who) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h))
}

// between draws a time.
func between(rng *rand.Rand, lo, hi time.Duration) time.Duration {
	if hi <= lo {
		return lo
	}
	return lo + time.Duration(rng.Int64N(int64(hi-lo)))
}

// park waits until the call is let go. A goroutine whose owner is dead ends here.
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

// kill ends an owner: its goroutines end at their next call at the latest. Who calls it runs alone.
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

// run lets calls go until over says that it is enough. It looks whenever nothing else runs.
func (s *schedule) run(over func() bool) {
	for {
		synctest.Wait()
		select {
		case <-s.poke: // by those who wait now
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
		s.steps++
		if now := time.Now(); now.Equal(s.at) {
			s.still++
		} else {
			s.at, s.still = now, 0
		}
		if s.still > mostStill || s.steps > mostSteps {
			s.stuck = true
			c.order <- order{die: true}
			return
		}
		c.order <- s.decide(c)
	}
}

// mostStill is how many calls may be let go without time passing. More is a loop that nothing slows down.
const mostStill = 2000

// mostSteps is how many calls a run may take. Most take some thousands: more is a loop that hardly anything slows down.
const mostSteps = 100_000

// idle waits for another call, or until the next one is due.
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

// admit takes in the calls that have come since, in an order that does not depend on which came first, and
// draws how long each takes.
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
			return cmp.Or(cmp.Compare(p.key, key), -1) // behind its equals, which came before it
		})
		s.parked = slices.Insert(s.parked, i, c)
	}
}

// choose draws one of the calls that are due. If there is none, next is when there will be one.
func (s *schedule) choose() (c *call, next time.Time) {
	now := time.Now()
	ready := s.ready[:0]
	for i, c := range s.parked {
		at := c.due
		if at.After(now) && c.over() {
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

// decide draws what becomes of a call, and writes it down.
func (s *schedule) decide(c *call) order {
	var o order
	if c.over() {
		o.cut = context.Cause(c.ctx)
		if s.rng.IntN(2) == 0 {
			o.fault = lostAnswer // it was carried out, and nobody waited for the answer
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
