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
	Name string // see [WithCaller]
	Do   func(ctx context.Context)
}

// Join gives a room's part to a daemon, and returns what the room has of the daemon. Call it before Run.
func Join(d *Daemon, p Part) Env {
	d.duties = append(d.duties, p.Duties...)
	slices.SortStableFunc(d.duties, func(a, b Duty) int { return int(a.Place - b.Place) })
	d.parts = append(d.parts, p)
	return Env{d}
}

// Duties returns the duties of a daemon, in their order.
func Duties(d *Daemon) []Duty { return slices.Clone(d.duties) }

// ownDuties are those that no room has.
func ownDuties(d *Daemon) []Duty {
	return []Duty{
		{"launch", "Such an agent has no process, screen or registry to look at.", AtStart, (*daemon.Agent).Launching, d.launch},
		{"keepAccount", "The process of a person's session may end at any moment, and its secrets with it.", AtStart, hasSecrets, doneBy(d, keepAccount)},
		{"followSession", "A session that was moved into the background has another process, whose end and registry entry count from then on.", AtProcess, (*daemon.Agent).Started, d.followSession},
		{"reapGone", "All that follows reads the pane of a process, types into it, or signals it.", AtProcess, (*daemon.Agent).Started, d.reapGone},
		{"readTail", "What the transcript tells and no hook reports may end a turn.", AtState, (*daemon.Agent).Started, d.readTail},
		{"endTurnAtRest", "A turn is over when nothing goes on behind its Stop.", AtState, endsTurn, doneBy(d, endTurnAtRest)},
		{"correctState", "The registry and the screen know what no hook has told.", AtState, (*daemon.Agent).Started, d.correctState},
		{"noteHead", "What follows shows the branch that is checked out.", AtState, (*daemon.Agent).Started, d.noteHead},
		{"stopLadder", "The handoff comes later, because it waits for the agent's end; so do the deliveries, because the rung that types the exit command drops the queued ones.", AtStop, (*daemon.Agent).Stopping, d.stopLadder},
		{"seeReading", "Whether a successor has read its handoff counts after all that may end a turn, and for an agent that has ended, too.", AtRest, (*daemon.Agent).NotesReading, d.seeReading},
		{"keepBase", "How the agent found its directory is recorded before it changes it.", AtRest, (*daemon.Agent).NotStopping, d.keepBase},
		{"noticeQuiet", "The turn of a CLI that tells nothing ends with a quiet screen.", AtRest, (*daemon.Agent).NotStopping, d.noticeQuiet},
		{"giveSkill", "The skill of a CLI that takes it as a prompt only comes before any other text.", AtRest, (*daemon.Agent).NotStopping, d.giveSkill},
		{"measure", "The use of the context decides whether a handoff is requested.", AtRest, (*daemon.Agent).NotStopping, d.measure},
		{"countUsage", "What was used decides whether a budget holds texts and automatic handoffs.", AtRest, (*daemon.Agent).Started, d.countUsage},
		{"tellOverdue", "An open dialog gives an agent more time to register.", AtRest, (*daemon.Agent).NotStopping, d.tellOverdue},
		{"handOver", "It queues deliveries, and withdraws those that are too late.", InFlow, always, d.handOver},
		{"deliverNext", "The state is known, and neither the agent's end nor its handoff has anything to do.", InFlow, always, d.deliverNext},
		{"sayWhoGoesOn", "A person's pane says who goes on with the work that was done there.", InFlow, (*daemon.Agent).Started, d.sayWhoGoesOn},
		{"forgetEnded", "An earlier duty may remember the agent anew.", ToForget, (*daemon.Agent).Ended, d.forgetEnded},
	}
}

// doneBy makes the duty of a daemon from a function.
func doneBy(d *Daemon, do func(*Daemon, context.Context, *daemon.Agent) (bool, time.Duration, error)) func(context.Context, *daemon.Agent) (bool, time.Duration, error) {
	return func(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) { return do(d, ctx, a) }
}

func always(*daemon.Agent) bool { return true }
