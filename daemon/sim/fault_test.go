package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// kind of a call; the faults that it can have depend on it.
type kind int

const (
	plain    kind = iota // an act of the world; it has no faults
	reading              // a query of the store
	writing              // a transaction of the store
	looking              // a call of the terminal that only reads
	typing               // a call that changes a terminal, a process or a work tree
	telling              // a notification
	sending              // a hook on its way to the daemon
	deciding             // the daemon's answer on its way to the hook
)

// fault is what goes wrong with a call.
type fault string

const (
	none        fault = ""
	crashBefore fault = "crash before" // the daemon is killed before the call
	crashAfter  fault = "crash after"  // the daemon is killed after the call
	failed      fault = "failed"       // the call is not carried out and returns an error
	lostAnswer  fault = "answer lost"  // the call is carried out, but returns an error
	moved       fault = "moved"        // another writer was first
	lostHook    fault = "hook lost"    // the hook's process is killed before it sends or spools anything
	lostReply   fault = "reply lost"   // the daemon's answer does not arrive whole, so the hook is spooled
)

// errAway is the store's error if the database does not answer.
var errAway = &daemon.Error{Kind: daemon.KindUnavailable, Code: "database_unavailable", Message: "The database does not answer", Cause: errors.New("simulated")}

// errTerminal is the terminal's error if tmux does not answer.
var errTerminal = errors.New("tmux could not be asked: simulated")

// classes are the classes of faults. Each seed has some of them, most seeds have few.
var classes = []string{
	"crash", "store fails", "store moved", "store loses answers", "store slow", "store away", "terminal fails", "terminal slow",
	"hooks late", "hooks lost", "hooks doubled", "replies lost", "notifier fails", "daemon frozen", "daemon stopped", "machine sleeps", "clock steps",
	"agents die", "tmux dies", "person types", "person prompts", "person interrupts", "agents misbehave", "operator acts", "documents fail", "agents compact", "usage limits", "briefings unread", "dialogs over texts", "stops blocked", "sub-agents ask", "sessions move",
	"starts held", "prompts refused", "retries at once",
}

// plan decides what goes wrong in one run.
type plan struct {
	on     map[string]bool
	rate   float64             // the chance of a fault, for each call
	until  time.Time           // from then on nothing new goes wrong
	away   map[*host]time.Time // until when the store does not answer a host
	counts map[string]int      // how often each fault was injected
}

func newPlan(rng *rand.Rand) *plan {
	p := &plan{on: map[string]bool{}, away: map[*host]time.Time{}, counts: map[string]int{}}
	share := []float64{0, 0.1, 0.2, 0.4}[rng.IntN(4)]
	for _, c := range classes {
		p.on[c] = rng.Float64() < share
	}
	// At least one class is on: a run without faults would be a wasted seed.
	p.on[classes[rng.IntN(len(classes))]] = true
	p.rate = []float64{0.003, 0.01, 0.03}[rng.IntN(3)]
	return p
}

// names returns the classes that are on, for the head of a trace.
func (p *plan) names() string {
	return strings.Join(slices.DeleteFunc(slices.Clone(classes), func(c string) bool { return !p.on[c] }), ", ")
}

// has reports whether a class of faults is on now.
func (p *plan) has(class string) bool { return p.on[class] && time.Now().Before(p.until) }

// count counts an injected fault.
func (p *plan) count(what string) { p.counts[what]++ }

// latency draws how long a call takes.
func (p *plan) latency(rng *rand.Rand, c *call) time.Duration {
	slow := 0
	switch c.kind {
	case reading, writing:
		if p.has("store slow") {
			slow = 10
		}
	case looking, typing:
		if p.has("terminal slow") {
			slow = 10
		}
	case sending, deciding:
		if p.has("hooks late") {
			slow = 20
		}
	}
	switch n := rng.IntN(100); {
	case n < slow:
		p.count("slow call")
		return between(rng, 100*time.Millisecond, 12*time.Second)
	case n < 70:
		return 0
	case n < 97:
		return between(rng, 0, 3*time.Millisecond)
	default:
		return between(rng, 0, 60*time.Millisecond)
	}
}

// fault draws what goes wrong with a call.
func (p *plan) fault(rng *rand.Rand, c *call) fault {
	f := p.draw(rng, c)
	if f != none {
		p.count(string(f))
	}
	return f
}

func (p *plan) draw(rng *rand.Rand, c *call) fault {
	stored := c.kind == reading || c.kind == writing
	if stored && c.own.host != nil && time.Now().Before(p.away[c.own.host]) {
		return failed
	}
	if !time.Now().Before(p.until) {
		return none
	}
	chance := func(class string) bool { return p.on[class] && rng.Float64() < p.rate }
	ofDaemon := stored || c.kind == looking || c.kind == typing || c.kind == telling || c.kind == deciding
	switch {
	case ofDaemon && chance("crash"):
		if c.kind == writing || c.kind == typing || rng.IntN(3) == 0 {
			return []fault{crashBefore, crashAfter}[rng.IntN(2)]
		}
		return none // a crash at another read mostly equals a crash at the call before it
	case stored && chance("store fails"):
		return failed
	case c.kind == writing && chance("store moved"):
		return moved
	case c.kind == writing && chance("store loses answers"):
		return lostAnswer
	case (c.kind == looking || c.kind == typing) && chance("terminal fails"):
		if c.kind == typing && rng.IntN(2) == 0 {
			return lostAnswer
		}
		return failed
	case c.kind == telling && p.on["notifier fails"] && rng.IntN(3) == 0:
		return failed
	case c.kind == sending && p.on["hooks lost"] && rng.Float64() < 5*p.rate:
		return lostHook
	case c.kind == deciding && p.on["replies lost"] && rng.Float64() < 5*p.rate:
		return lostReply
	}
	return none
}

// err returns the error that the caller gets for the call's fault, nil for none.
func (o order) err(c *call) error {
	switch {
	case o.cut != nil:
		return fmt.Errorf("%s: %w", c.what, o.cut)
	case o.fault == moved:
		return fmt.Errorf("%s: %w", c.what, daemon.ErrMoved)
	case o.fault != failed && o.fault != lostAnswer:
		return nil
	case c.kind == reading || c.kind == writing:
		return fmt.Errorf("%s: %w", c.what, errAway)
	}
	return fmt.Errorf("%s: %w", c.what, errTerminal)
}
