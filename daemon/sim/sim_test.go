// Package sim runs whole daemons against simulated hosts, agents and people, and checks what must be true at every
// moment. One seed decides everything, so that a run can be had again exactly. It has tests alone: a world with faults
// for each seed, and stories in which one thing goes wrong.
//
// Every goroutine of a world waits in a call until the schedule lets it go. The schedule lets one go when all others are
// blocked, so the fields of a world need no lock. A killed test leaves a temporary folder.
package sim

import (
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

var (
	oneSeed  = flag.Int64("seed", -1, "run only this seed, and with -v show its timeline")
	whole    = flag.Bool("whole", false, "with -seed: show every call, not only the timeline")
	seeds    = flag.Int("seeds", 150/slower, "how many seeds TestSeeds runs")
	first    = flag.Uint64("first", 1, "the first seed")
	replays  = flag.Int("replays", 24/slower, "how many seeds TestReplay runs twice")
	bail     = flag.Bool("bail", false, "stop after the first seed that fails")
	progress = flag.Bool("progress", false, "print every ten seconds how many seeds are done")
)

// outcome is the result of a run.
type outcome struct {
	failures []string
	trace    *trace
	counts   map[string]int
	calls    int
	handoffs int
	virtual  time.Duration
	covered  map[cell]int
}

// simulate runs a seed. try is 0 for the first run of the seed and 1 for its replay.
func simulate(t *testing.T, seed uint64, try int) (out outcome) {
	t.Helper()
	root := must(folder(os.TempDir(), seed, try))
	defer os.RemoveAll(root) //nolint:errcheck // nobody reads the folder any more
	synctest.Test(t, func(t *testing.T) {
		w := must(newWorld(seed, root))
		w.live(w.people)
		handoffs := w.handoffs()
		out = outcome{w.failures, w.trace, w.plan.counts, w.calls, len(handoffs), time.Since(w.trace.began), w.covered}
	})
	return out
}

// TestSeeds runs seeds on all cores. It reports each failure with the command that runs its seed again.
func TestSeeds(t *testing.T) {
	if *oneSeed >= 0 {
		showSeed(t, uint64(*oneSeed))
		return
	}
	began := time.Now()
	var next atomic.Int64
	var sum tally
	stop := make(chan struct{})
	if *progress {
		go sum.report(stop, began)
	}
	t.Run("all", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for i := next.Add(1) - 1; i < int64(*seeds); i = next.Add(1) - 1 {
					seed := *first + uint64(i)
					out := simulate(t, seed, 0)
					for _, f := range out.failures {
						t.Errorf("%s\n\tgo test ./daemon/sim -run TestSeeds -seed %d -v", f, seed)
					}
					if failed := sum.add(out); failed > mostFailed || *bail && failed > 0 {
						return
					}
				}
			})
		}
	})
	close(stop)
	t.Log(sum.String(began))
	t.Log("\n" + table(sum.covered))
}

// mostFailed is how many seeds may fail before TestSeeds stops: a rule that is broken everywhere shows in the first.
const mostFailed = 20

// showSeed runs one seed and shows its trace.
func showSeed(t *testing.T, seed uint64) {
	out := simulate(t, seed, 0)
	var b strings.Builder
	for _, l := range out.trace.lines {
		if l.shown || *whole {
			b.WriteString(l.String() + "\n")
		}
	}
	t.Logf("\n%s\n%s, %d calls, %d handoffs in %s; injected: %v", b.String(), out.trace.sum(), out.calls, out.handoffs, out.virtual, out.counts)
	for _, f := range out.failures {
		t.Errorf("seed %d: %s", seed, f)
	}
}

// tally adds up the outcomes of the seeds.
type tally struct {
	mu                             sync.Mutex
	seeds, failed, calls, handoffs int
	virtual                        time.Duration
	counts                         map[string]int
	covered                        map[cell]int
}

// add counts an outcome, and returns how many seeds have failed so far.
func (s *tally) add(out outcome) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts, s.covered = map[string]int{}, map[cell]int{}
	}
	s.seeds++
	s.calls += out.calls
	s.handoffs += out.handoffs
	s.virtual += out.virtual
	if len(out.failures) > 0 {
		s.failed++
	}
	for what, n := range out.counts {
		s.counts[what] += n
	}
	for c, n := range out.covered {
		s.covered[c] += n
	}
	return s.failed
}

func (s *tally) String(began time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var injected []string
	for _, what := range slices.Sorted(maps.Keys(s.counts)) {
		injected = append(injected, fmt.Sprintf("%s %d", what, s.counts[what]))
	}
	took := time.Since(began)
	return fmt.Sprintf("%d seeds, %d failed, in %s (%.1f a second): %d handoffs, %d calls, %.1f hours of the world's time; injected: %s",
		s.seeds, s.failed, took.Round(time.Second), float64(s.seeds)/took.Seconds(), s.handoffs, s.calls, s.virtual.Hours(), strings.Join(injected, ", "))
}

func (s *tally) report(stop chan struct{}, began time.Time) {
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			fmt.Println(s.String(began))
		case <-stop:
			return
		}
	}
}

// TestReplay: a seed decides everything. Two runs of a seed have equal traces, however busy the machine is.
func TestReplay(t *testing.T) {
	for i := range *replays {
		seed := *first + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			one, two := simulate(t, seed, 0), simulate(t, seed, 1)
			if one.trace.sum() != two.trace.sum() {
				t.Errorf("two runs differ:\n%s", difference(one.trace, two.trace))
			}
		})
	}
}

// difference returns the first line in which two traces differ.
func difference(one, two *trace) string {
	at := func(tr *trace, i int) string {
		if i < len(tr.lines) {
			return tr.lines[i].String()
		}
		return "nothing"
	}
	for i := 0; ; i++ {
		if a, b := at(one, i), at(two, i); a != b || a == "nothing" {
			return fmt.Sprintf("line %d:\n%s\n%s", i, a, b)
		}
	}
}

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // a world is small and short-lived: with the default of 100 the tests take a fifth more CPU
	os.Exit(wardentest.Run(m.Run))
}

var equal, names = wardentest.Equal, wardentest.Holds

// trace lists what happened, in order. Two runs of a seed have equal traces.
type trace struct {
	began time.Time
	hide  *strings.Replacer // replaces the path of the folder, which differs from run to run
	lines []line
}

type line struct {
	at    time.Duration
	who   string
	what  string
	shown bool // part of the timeline, which people read
}

// call adds a call that the schedule lets go. The timeline shows a call that only reads if it goes wrong.
func (t *trace) call(c *call, o order) {
	text := c.what
	switch {
	case o.cut != nil:
		text += fmt.Sprintf("  ✗ cut off (%s) %s", o.cut, o.fault)
	case o.fault != none:
		text += "  ✗ " + string(o.fault)
	}
	shown := o.fault != none && o.cut == nil || c.kind == typing || c.kind == sending
	t.add(strings.TrimSpace(c.own.name+" "+c.who), text, shown)
}

// note adds a line to the timeline.
func (t *trace) note(who, format string, args ...any) { t.add(who, fmt.Sprintf(format, args...), true) }

func (t *trace) add(who, what string, shown bool) {
	if t.hide != nil {
		what = t.hide.Replace(what)
	}
	t.lines = append(t.lines, line{time.Since(t.began), who, what, shown})
}

// sum returns a short text that is the same for equal traces.
func (t *trace) sum() string {
	h := fnv.New64a()
	for i := range t.lines {
		_, _ = fmt.Fprintln(h, t.lines[i].String()) // never fails
	}
	return fmt.Sprintf("%016x of %d lines", h.Sum64(), len(t.lines))
}

func (l line) String() string { return fmt.Sprintf("%11.6f  %-28s %s", l.at.Seconds(), l.who, l.what) }
