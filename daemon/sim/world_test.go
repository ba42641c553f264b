package sim

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/sim/memory"
)

// world is everything in one run: hosts, a database, agents and people. Only the goroutine that the schedule has let go
// touches its fields.
type world struct {
	seed  uint64
	root  string
	store *memory.Store
	lent  *memory.Store // the same store for checks: it returns rows without copying them
	*schedule
	hosts      []*host
	agents     []*agent
	self       *owner // owns the calls of people, service managers and accidents
	rng        *rand.Rand
	limits     daemon.LimitSettings
	resume     bool                    // the settings of all daemons about agents and pipelines
	background daemon.BackgroundPolicy // the same
	routes     map[string]string       // templates with rules that the seed draws, by name
	woods      *rand.Rand              // draws what foresters do
	clis       *rand.Rand              // draws the runtimes of agents; nil: all are Claude Code
	busy       int                     // how many people have not finished their work
	checks
	pipelineChecks

	after    func(what string)                     // if set, called after each commit of a change
	sent     func(what string, again func() error) // if set, called before each act of a daemon in a terminal; again does it once more
	born     func(a *agent)                        // if set, called with each new process of an agent, before it acts
	calm     time.Time                             // from then on nothing goes wrong any more
	failures []string
	covered  map[cell]int // how often each runtime has met what is asked of it
}

const mostFailures = 5

// fail adds a failure of the run.
func (w *world) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if slices.Contains(w.failures, text) || len(w.failures) >= mostFailures {
		return
	}
	w.failures = append(w.failures, text)
	w.trace.note("✗✗✗", "%s", text)
}

// ok fails the run if there is an error.
func (w *world) ok(err error) {
	if err != nil {
		w.fail("%v", err)
	}
}

// must returns a value that cannot be missing.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// each returns pointers to the elements of a list: rows are large.
func each[T any](list []T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}

// errorOf returns the error of an answer alone.
func errorOf[T any](_ T, err error) error { return err }

// newWorld makes the hosts of a run; nothing runs yet.
func newWorld(seed uint64, root string) (*world, error) {
	tr := &trace{began: time.Now(), hide: strings.NewReplacer(root, "…")}
	w := &world{
		seed: seed, root: root, store: memory.New(), schedule: newSchedule(seed, tr), self: &owner{name: "world"}, rng: generator(seed, "people"),
		covered: map[cell]int{}, checks: newChecks(), pipelineChecks: newPipelineChecks(),
	}
	w.plan.until = tr.began.Add(between(w.rng, 40*time.Second, 3*time.Minute))
	w.calm = w.plan.until
	w.plan.away = map[*host]time.Time{}
	w.woods = generator(seed, "woods")
	w.resume = generator(seed, "resume").IntN(2) == 0
	w.background = []daemon.BackgroundPolicy{daemon.BackgroundWarn, daemon.BackgroundWait}[generator(seed, "background").IntN(2)]
	w.limits, w.routes = drawLimits(generator(seed, "limits")), drawTemplates(generator(seed, "routes"))
	if rng := generator(seed, "runtimes"); rng.IntN(2) == 0 {
		w.clis = rng
		w.limits.Fallback = []string{w.drawRuntime(), fallback}
	}
	hosts := 1
	if w.rng.IntN(5) == 0 {
		hosts = 2
	}
	for range hosts {
		if err := w.addHost(); err != nil {
			return nil, err
		}
	}
	w.lent = w.store.Lending()
	tr.note("seed", "%d: %s", seed, w.plan.names())
	return w, nil
}

// addHost adds a host on which nothing runs yet.
func (w *world) addHost() error {
	h, err := newHost(w, fmt.Sprintf("host%d", len(w.hosts)+1))
	if err != nil {
		return err
	}
	w.hosts = append(w.hosts, h)
	w.store.SetHost(h.name, h.dir.Root())
	return nil
}

// live runs the world until nothing is left to do, and checks how it ended.
func (w *world) live(people func()) {
	for _, h := range w.hosts {
		if err := h.start(); err != nil {
			w.fail("%s: %v", h.name, err)
			return
		}
	}
	people()
	var quiet, looked time.Time
	w.run(func() bool {
		checkUnlocked(w)
		now := time.Now()
		if len(w.failures) > 0 {
			return true
		}
		if now.Sub(looked) < time.Second {
			return false
		}
		looked = now
		switch {
		case now.After(w.calm.Add(patience)):
			unfinished(w)
			return true
		case now.Before(w.calm) || !finished(w):
			quiet = time.Time{}
		case quiet.IsZero():
			quiet = now
		}
		return !quiet.IsZero() && now.Sub(quiet) > 20*time.Second
	})
	if w.stuck {
		w.fail("a loop: %s", w.trace.lines[len(w.trace.lines)-1])
	}
	if len(w.failures) == 0 {
		ended(w)
	}
	w.shutDown()
}

// patience is how long open work may take once nothing goes wrong any more.
const patience = 25 * time.Minute

// shutDown ends everything.
func (w *world) shutDown() {
	w.kill(w.self)
	for _, h := range w.hosts {
		if g := h.daemon; g != nil {
			h.daemon = nil
			w.kill(&g.owner)
			g.cancel(errStopped)
		}
		for _, o := range h.others {
			w.kill(o)
		}
	}
	for _, a := range w.agents {
		if !a.dead {
			w.kill(&a.owner)
			close(a.ended)
			a.h.table.End(a.proc)
		}
	}
}

// restart starts the host's next daemon after a while, as a service manager does.
func (w *world) restart(h *host) {
	own := w.self
	go func() {
		w.park(&call{own: own, who: "service manager", what: "restarts " + h.name, slow: func() time.Duration {
			return between(w.rng, 50*time.Millisecond, 4*time.Second)
		}})
		if err := h.start(); err != nil {
			w.fail("%s: %v", h.name, err)
		}
	}()
}

// agentsOf returns the agents on a host whose processes live.
func (w *world) agentsOf(h *host) (list []*agent) {
	for _, a := range w.agents {
		if a.h == h && !a.dead {
			list = append(list, a)
		}
	}
	return list
}

// process returns the living process of the agent with that id, or nil.
func (w *world) process(id int64) *agent {
	for _, a := range w.agents {
		if a.id == id && !a.dead {
			return a
		}
	}
	return nil
}

// newestProcess returns the last process that was started as the agent with that id, which may have ended, or nil. A daemon starts
// another one if the first ended before the daemon stored or heard of it.
func (w *world) newestProcess(id int64) (newest *agent) {
	for _, a := range w.agents {
		if a.id == id {
			newest = a
		}
	}
	return newest
}

// logged adds an entry of a daemon's log to the trace. A panic, or a state without a move, is a failure of the run.
func (w *world) logged(who string, level slog.Level, text string) {
	if level >= slog.LevelWarn {
		w.trace.note(who, "%s: %s", level, text)
	}
	if strings.Contains(text, "Do you want to proceed") {
		w.fail("%s: the log has what a pane shows: %s", who, text)
	}
	if strings.Contains(text, "panic") || strings.Contains(text, "knows no move") {
		w.fail("%s: %s", who, text)
	}
}

// rows returns the stored agents and handoffs.
func (w *world) rows() ([]daemon.Agent, []daemon.Handoff) {
	return must(w.lent.Agents(ctx(), daemon.AgentFilter{Limit: 1000})), w.handoffs()
}

// deliveries returns the stored deliveries of an agent, the newest first.
func deliveries(w *world, id int64) []daemon.Delivery {
	return must(w.lent.Deliveries(ctx(), id, 0, 500))
}

// handoffs returns the stored handoffs.
func (w *world) handoffs() []daemon.Handoff {
	return must(w.lent.Handoffs(ctx(), daemon.HandoffFilter{Limit: 1000}))
}

// folder makes a folder for a run. Its path has the same length in each process, because the length of some typed texts
// matters.
func folder(base string, seed uint64, try int) (string, error) {
	name := fmt.Sprintf("s%016x-%04d", seed, try)
	root := filepath.Join(base, strings.Repeat("0", max(0, pathLength-len(base)-len("/")-len(name)))+name)
	return root, os.Mkdir(root, 0o700)
}

// pathLength is longer than the path of a temporary folder on most systems.
const pathLength = 80

// ctx returns the context of the world's own queries, which never ends.
func ctx() context.Context { return context.Background() }
