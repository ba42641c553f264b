package engine

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/tell"
)

// Duty is something that may be due for an agent. The agent's lane looks at its duties one after the other, and does the first one that is due.
type Duty struct {
	Name  string // in docs/architecture.md
	Why   string // why its turn comes there, in a sentence
	Place Place
	When  func(a *daemon.Agent) bool // whether it may be due, by the row alone
	// Do does what is due. moved says that a row was written: the lane then looks again, from the first duty on. again is when the duty may
	// be due without a wake; 0: no time is known.
	Do func(ctx context.Context, a *daemon.Agent) (moved bool, again time.Duration, err error)
}

// Place is when the turn of a duty comes. Duties with the same place keep the order in which they were registered.
type Place int

// The places, in their order.
const (
	AtStart      Place = iota // the agent gets its pane: without it there is no process, screen or registry to look at
	AtProcess                 // which process is the agent's, and does it live?
	AtState                   // what does the agent do? All that follows decides by it
	BeforeTyping              // what a person does in the pane from elsewhere, before the daemon itself types
	AtStop                    // the ladder of an agent that was asked to stop; most of what follows is not due for it
	AtRest                    // what is noted and measured of an agent; the flow decides by it
	AtLimit                   // what keeps it from its work: what is done about that may request a handoff or queue a text
	InFlow                    // what moves its work: handoffs, texts
	AfterTheEnd               // what is due for an agent that has ended
	ToForget                  // nothing more is due for it
)

// String says in a few words what happens there.
func (p Place) String() string {
	return [...]string{
		"the agent gets its pane", "which process is the agent's, and does it live?", "what does the agent do?", "what a person does in the pane from elsewhere",
		"the agent is asked to stop", "what is noted and measured", "something keeps it from its work", "its work goes on", "it has ended",
		"it is forgotten",
	}[p]
}

// Part is what a room does in the daemon that it has joined. Every field may be left out.
type Part struct {
	Duties []Duty
	Runs   []Run
	Lanes  []Lane
	// Resumed is called once after a start, when the sessions of agents that had died were opened again. died are these agents, pipelines
	// those of the host that are open or have failed lately.
	Resumed func(ctx context.Context, pipelines []daemon.Pipeline, died map[int64]bool) error
	// Start wakes the lanes of agents that have ended and for which something is due. It is called when the daemon begins to run.
	Start func(ctx context.Context) error
	// Due reports whether something is due for an agent of which no row tells. The sweep asks it of each agent; it must be quick.
	Due func(a *daemon.Agent) bool
	// Swept is called in each sweep.
	Swept func(ctx context.Context) error
	// Logged is called when the event log has grown. It must not block.
	Logged func()
	// Asked is called when a hook has asked for a permission, before Hold.
	Asked func(p *daemon.Permission)
	// Hold waits until a permission has ended, and returns the answer to its hook. stored is what the hook's row has as its answer. If
	// joined is nil, the hook cannot wait.
	Hold func(ctx context.Context, id int64, stored json.RawMessage, joined func(id int64)) (json.RawMessage, error)
	// Tell tells the operator of something at once, without the database, which is away.
	Tell func(ctx context.Context, n tell.Notification)
}

// Lane is the work of the lanes of a kind.
type Lane struct {
	Kind string // see [AgentLane]
	// Do does the first thing that is due for a row. The results are those of [Duty.Do].
	Do func(ctx context.Context, id int64) (moved bool, again time.Duration, err error)
}

// Run is work that goes on beside the lanes while the daemon runs. It must end soon after ctx has.
type Run struct {
	Name string // see [daemon.WithCaller]
	Do   func(ctx context.Context)
}

// Join gives a part to an engine.
func Join(e *Engine, p Part) {
	e.Duties = append(e.Duties, p.Duties...)
	slices.SortStableFunc(e.Duties, func(a, b Duty) int { return int(a.Place - b.Place) })
	e.Parts = append(e.Parts, p)
}

// Duties returns the duties of a daemon, in their order.
func Duties(d *Engine) []Duty { return slices.Clone(d.Duties) }
