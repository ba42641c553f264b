package sim

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
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
	oneSeed  = flag.Int64("seed", -1, "run this seed alone; with -v show its timeline")
	whole    = flag.Bool("whole", false, "with -seed: show every call, not the timeline alone")
	seeds    = flag.Int("seeds", 150/slower, "how many seeds TestSeeds runs")
	first    = flag.Uint64("first", 1, "the first seed")
	replays  = flag.Int("replays", 24/slower, "how many seeds TestReplay runs twice")
	bail     = flag.Bool("bail", false, "run no more seeds once one has failed")
	progress = flag.Bool("progress", false, "say every ten seconds how far the seeds have got")
)

// outcome is what a run came to.
type outcome struct {
	failures []string
	trace    *trace
	counts   map[string]int
	steps    int
	handoffs int
	virtual  time.Duration
}

// simulate runs a seed; try tells two runs of it apart.
func simulate(t *testing.T, seed uint64, try int) (out outcome) {
	t.Helper()
	root, err := folder(cmp.Or(wardentest.InMemory(), os.TempDir()), seed, try)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(root) //nolint:errcheck // of no use to anybody
	synctest.Test(t, func(t *testing.T) {
		w, err := newWorld(seed, root)
		if err != nil {
			t.Fatal(err)
		}
		w.live(w.people)
		_, handoffs := w.rows()
		out = outcome{w.failures, w.trace, w.plan.counts, w.steps, len(handoffs), time.Since(w.trace.began)}
	})
	return out
}

// TestSeeds runs seeds, on all cores. A seed that fails is named with what it found.
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
}

// mostFailed is after how many seeds that failed no more are run: a rule that is broken everywhere shows in the first.
const mostFailed = 20

// showSeed runs one seed and shows what has happened.
func showSeed(t *testing.T, seed uint64) {
	out := simulate(t, seed, 0)
	var b strings.Builder
	for _, l := range out.trace.lines {
		if l.shown || *whole {
			b.WriteString(l.String() + "\n")
		}
	}
	t.Logf("\n%s\n%s, %d calls, %d handoffs in %s; injected: %v", b.String(), out.trace.sum(), out.steps, out.handoffs, out.virtual, out.counts)
	for _, f := range out.failures {
		t.Errorf("seed %d: %s", seed, f)
	}
}

// tally adds up what the seeds came to.
type tally struct {
	mu                             sync.Mutex
	seeds, failed, steps, handoffs int
	virtual                        time.Duration
	counts                         map[string]int
}

// add returns how many seeds have failed.
func (s *tally) add(out outcome) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts = map[string]int{}
	}
	s.seeds++
	s.steps += out.steps
	s.handoffs += out.handoffs
	s.virtual += out.virtual
	if len(out.failures) > 0 {
		s.failed++
	}
	for what, n := range out.counts {
		s.counts[what] += n
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
		s.seeds, s.failed, took.Round(time.Second), float64(s.seeds)/took.Seconds(), s.handoffs, s.steps, s.virtual.Hours(), strings.Join(injected, ", "))
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

// TestReplay: a seed decides everything. Two runs of it differ in nothing, however busy the machine is.
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

// difference is the first line in which two traces differ.
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
