package daemon

import (
	"context"
	"encoding/json"
	"time"

	"github.com/understudyd/understudy/daemon/event"
)

// Change is one transaction: all of it is committed, or none. Rows are written whole. Each
// existing row is guarded by the Rev (or, for handoffs, phase and Seq) it was read with; when
// another writer was first nothing is written and the commit returns [ErrMoved].
//
// Rows are locked in a fixed order (agents by id, the handoff, deliveries by id) and events are
// appended last, so changes cannot deadlock with each other or with a hook.
type Change struct {
	NewAgent      *Agent      // ID taken from NextID beforehand
	Agents        []*Agent    // guarded by Rev, which is advanced in place
	NewHandoff    *Handoff    // ID taken from NextID beforehand; ErrOpenHandoff
	Move          *Move       // guarded by From and Seq
	NewDeliveries []*Delivery // IDs taken from NextID beforehand
	Deliveries    []*Delivery // guarded by Rev, which is advanced in place
	NewRecord     *Record     // what the handoff in Move keeps beside its row; replaces an earlier one
	// DropQueued names an agent whose deliveries that are still queued become not_submitted, with
	// the evidence given; those in NewDeliveries are left alone.
	DropQueued   int64
	DropEvidence string
	NewPipeline  *Pipeline    // with all its Steps; IDs taken from NextID beforehand
	Run          *RunMove     // guarded by Seq
	NewOutput    *StepHandoff // ID taken from NextID beforehand; ErrMoved if its step has one
	// Admit, if not 0, is how many runs and agents of runs the host of NewPipeline or Run may have at
	// work, with this one: see ErrNoRoom.
	Admit  int
	Events []*event.Event // IDs are set by the commit, At where it is zero

	dropped []*Delivery // what DropQueued was about to drop; for the counts only
}

// RunMove writes a run, and those of its steps that are named. The run's Seq is advanced in place;
// derived fields are not written.
type RunMove struct {
	Pipeline *Pipeline
	Steps    []*Step
}

// pipelines are the runs that the change writes.
func (c *Change) pipelines() (runs []*Pipeline) {
	if c.NewPipeline != nil {
		runs = append(runs, c.NewPipeline)
	}
	if c.Run != nil {
		runs = append(runs, c.Run.Pipeline)
	}
	return runs
}

// attribute names the run and the step in an event about an agent that works for one.
func (c *Change) attribute(e *event.Event) {
	if e.AgentID == nil || e.PipelineID != nil {
		return
	}
	for _, a := range append([]*Agent{c.NewAgent}, c.Agents...) {
		if a != nil && a.ID == *e.AgentID {
			e.For(a.PipelineID, a.StepID)
			return
		}
	}
}

// Move writes a handoff that was in phase From with Seq as read. Handoff.Seq is advanced in
// place. When the phase changed a transition row is written, too.
type Move struct {
	Handoff *Handoff
	From    Phase
	Cause   string
}

// Committer is the daemon's only way to write.
type Committer interface {
	// Commit carries out c. ErrMoved: nothing was written, another writer was first.
	// ErrOpenHandoff: the agent's one open handoff exists already (by a new row, or by a move out
	// of failed). ErrNoRoom: c.Admit would be exceeded, or an older run of the host is pending;
	// nothing was written. Of two that are admitted at once the second sees the first.
	Commit(ctx context.Context, c *Change) error
	// RecordHook stores a hook and what follows from it in one transaction, see [HookTx]. decide must neither
	// block nor call the store. It is called again, with fresh rows, if another hook was first; what it was
	// given before counts no more.
	RecordHook(ctx context.Context, in HookInput, decide func(HookTx) HookDecision) (HookResult, error)
	// NextID returns a fresh id for a row of the given kind, before it is created.
	NextID(ctx context.Context, kind IDKind) (int64, error)
}

// IDKind names a sequence of ids.
type IDKind string

// The kinds of ids that are taken before their row is written.
const (
	AgentIDs    IDKind = "agents"
	HandoffIDs  IDKind = "handoffs"
	DeliveryIDs IDKind = "deliveries"
	PipelineIDs IDKind = "pipelines"
	StepIDs     IDKind = "steps"
	OutputIDs   IDKind = "step_handoffs"
)

// HookInput is a hook as it came in, with what is needed to find its agent.
type HookInput struct {
	Key        string // unique: a hook that comes again is answered from its row
	Event      string
	Host       string
	LaunchHash []byte // SHA-256 of the launch secret; nil: an agent that a person started
	PID        int    // the runtime's process, 0 unknown
	PIDStart   uint64 // 0 when the process is gone or unknown
	SessionID  string
	Body       json.RawMessage
	At         time.Time
	Replayed   bool // it comes from the spool: its sender got no complete answer
}

// HookTx is what a hook's transaction has locked: the agent it belongs to (found by launch
// hash; else, of those that people started on this host, by process, or by session when the
// process is gone), that agent's open handoff, and its open deliveries, oldest first.
type HookTx struct {
	HookID     int64 // the id that the hook's row will have
	Agent      *Agent
	NewAgentID int64 // for an agent that registers by itself; only set when Agent is nil
	Handoff    *Handoff
	Deliveries []*Delivery
	// Again is set when a hook with this key is stored already. Then only a replayed Stop still
	// matters (its answer did not arrive); the row is not written again.
	Again bool
}

// HookDecision is what follows from a hook.
type HookDecision struct {
	// Undone, if not nil, has RecordHook write nothing, not even the hook, and return this error.
	Undone  error
	Applied bool
	Reason  string          // why it was not applied
	Output  json.RawMessage // the answer; nil: none
	Change  Change          // committed with the hook's row
}

// HookResult is what became of a hook.
type HookResult struct {
	HookID  int64
	AgentID int64 // 0: nobody's
	Applied bool
	Reason  string
	Again   bool
	Output  json.RawMessage
}

// AgentReader reads agents.
type AgentReader interface {
	// Agent returns ErrNotFound for an unknown id.
	Agent(ctx context.Context, id int64) (Agent, error)
	// AgentByLaunch finds the agent of a launch secret by its SHA-256; ErrNotFound.
	AgentByLaunch(ctx context.Context, hash []byte) (Agent, error)
	// Agents lists the newest first.
	Agents(ctx context.Context, f AgentFilter) ([]Agent, error)
}

// AgentFilter narrows a list of agents; zero values do not.
type AgentFilter struct {
	State    AgentState
	Persona  string
	Host     string
	Active   bool  // only those that have not ended
	Before   int64 // id
	Limit    int   // 0: 100
	Previous int64 // only successors of this agent
	Lately   bool  // those that have ended, the newest end first; nothing else but Limit counts
	EndCause string
}

// HandoffReader reads handoffs.
type HandoffReader interface {
	// Handoff returns ErrNotFound for an unknown id.
	Handoff(ctx context.Context, id int64) (Handoff, error)
	// Handoffs lists the newest first.
	Handoffs(ctx context.Context, f HandoffFilter) ([]Handoff, error)
	// Transitions returns a handoff's moves in order.
	Transitions(ctx context.Context, handoffID int64) ([]Transition, error)
}

// HandoffFilter narrows a list of handoffs; zero values do not.
type HandoffFilter struct {
	AgentID     int64 // the outgoing agent
	SuccessorID int64
	Persona     string
	Status      Status
	Host        string
	Open        bool
	Last        bool // only those after which their agent had no other one
	Before      int64
	Limit       int // 0: 100
}

// RecordReader reads what handoffs keep beside their rows, and along lines of agents. A line are
// agents of which each is the predecessor of the next.
type RecordReader interface {
	// Record returns ErrNotFound for a handoff that has none.
	Record(ctx context.Context, handoffID int64) (Record, error)
	// LineRecords returns the records of the agents before one in its line, that of its predecessor
	// first. Document and Context are left out.
	LineRecords(ctx context.Context, q LineQuery) ([]Record, error)
	// LineHandoffs returns the handoffs of the whole line that an agent belongs to, before it and
	// after it, the newest first, at most limit; 100 where that is 0.
	LineHandoffs(ctx context.Context, agentID int64, limit int) ([]Handoff, error)
}

// LineQuery says what of a line is read.
type LineQuery struct {
	AgentID      int64
	Limit        int   // records; 0: 100
	Messages     int   // records have their messages until there are so many; 0: none
	MessageBytes int64 // or until they are about so large
}

// PipelineReader reads runs.
type PipelineReader interface {
	// Pipeline returns a run with its steps; ErrNotFound for an unknown id.
	Pipeline(ctx context.Context, id int64) (Pipeline, error)
	// Pipelines lists the newest first, with their steps.
	Pipelines(ctx context.Context, f PipelineFilter) ([]Pipeline, error)
	// PipelinePlaces returns where the host's runs work that have not ended, the oldest first.
	PipelinePlaces(ctx context.Context, host string) ([]PipelinePlace, error)
	// OpenPipelines returns the ids of the host's runs that may have something to do, the oldest first:
	// those that have not ended, but of those that are pending the oldest alone.
	OpenPipelines(ctx context.Context, host string) ([]int64, error)
}

// PipelinePlace is where a run works; WorkDir is empty as long as it has no directory.
type PipelinePlace struct {
	ID      int64
	WorkDir string
}

// PipelineFilter narrows a list of runs; zero values do not.
type PipelineFilter struct {
	Status   PipelineStatus
	Template string
	Host     string
	Open     bool // only those that have not ended
	Before   int64
	Limit    int // 0: 100
}

// HookReader reads what hooks said.
type HookReader interface {
	// StoredHook returns a hook as it was stored; ErrNotFound for an unknown id.
	StoredHook(ctx context.Context, hookID int64) (StoredHook, error)
}

// StoredHook is a hook that was stored.
type StoredHook struct {
	Event      string
	Body       json.RawMessage
	ReceivedAt time.Time
}

// DeliveryReader reads deliveries.
type DeliveryReader interface {
	// Delivery returns ErrNotFound for an unknown id.
	Delivery(ctx context.Context, id int64) (Delivery, error)
	// Deliveries lists an agent's, newest first: those before an id, at most limit; 0: any, 100.
	Deliveries(ctx context.Context, agentID, before int64, limit int) ([]Delivery, error)
	// OpenDeliveries lists an agent's without a verdict, oldest first.
	OpenDeliveries(ctx context.Context, agentID int64) ([]Delivery, error)
	// Sent counts what an agent has sent to other agents, as far back as the log goes.
	Sent(ctx context.Context, agentID int64, since time.Time) (Sent, error)
}

// Sent is how much an agent has sent to other agents.
type Sent struct {
	Open   int        // messages without a verdict, whenever they were sent
	Recent int        // messages after the time asked for
	First  *time.Time // the oldest of those; nil: there is none
}

// EventReader reads the log.
type EventReader interface {
	// Events returns what came after an id, in order.
	Events(ctx context.Context, f EventFilter) ([]event.Event, error)
	// LastEventID returns the newest id, 0 when there is none.
	LastEventID(ctx context.Context) (int64, error)
	// PendingAlerts returns the host's events with Alert or Notice that were not marked: first those
	// with Alert, in order, then those of all agents and runs in turn, each one's in order. At most limit; 0: 100.
	PendingAlerts(ctx context.Context, host string, limit int) ([]event.Event, error)
	// MarkAlerted notes that the operator was told of events, together with the event that says so
	// (nil: they need not be told). ErrMoved: one of them was marked before; nothing was written.
	MarkAlerted(ctx context.Context, ids []int64, told *event.Event) error
}

// EventFilter narrows the log.
type EventFilter struct {
	After      int64
	Types      []string
	AgentID    int64
	HandoffID  int64
	PipelineID int64
	Limit      int // 0: 500
}

// LogKeeper reads the log backwards, and takes out of it what is not kept for ever.
type LogKeeper interface {
	// Audit returns events, the newest first. A search that takes too long is an [Error].
	Audit(ctx context.Context, f AuditFilter) ([]event.Event, error)
	// LogFloor says how far the log has been pruned.
	LogFloor(ctx context.Context) (LogFloor, error)
	// PruneEvents deletes some events, the oldest first, for which l does not want more. It leaves
	// those that are younger than NeverPruned, those that the operator is still to be told of, and those
	// of handoffs and runs that have not ended. None: there are no more.
	PruneEvents(ctx context.Context, l PruneLimits) (Pruned, error)
	// PruneHooks deletes some hooks in the same way. It leaves those that an agent's row names.
	PruneHooks(ctx context.Context, l PruneLimits) (Pruned, error)
	// PruneHistory deletes some runs that ended before a time, or if there are none some agents, the oldest first, with
	// their handoffs, records, deliveries and hooks; at most so many, 0: 5000. An agent stays as long as one after it in
	// its line, or the one before it has not ended, or its run is there, or something of it is open. None: there are no more.
	PruneHistory(ctx context.Context, before time.Time, most int) (PrunedHistory, error)
}

// PruneForecast says what pruning would delete.
type PruneForecast interface {
	// WouldPrune counts what PruneEvents and PruneHooks with l, and PruneHistory with the time, would delete to their ends.
	// A zero time: no history.
	WouldPrune(ctx context.Context, l PruneLimits, history time.Time) (PruneReport, error)
}

// OpenWork names a host's agents that have something to do, or may have. It is asked each second.
type OpenWork interface {
	// OpenAgents returns the ids of the host's agents that have something to do: those that are
	// starting or were asked to stop and have not ended, and those, ended or not, with an open
	// handoff or an open delivery.
	OpenAgents(ctx context.Context, host string) ([]int64, error)
	// ActiveAgents returns all of the host's agents that have not ended, in the order of their ids.
	ActiveAgents(ctx context.Context, host string) ([]AgentRev, error)
	// AgentsByID returns those of some agents that there are, in the order of their ids.
	AgentsByID(ctx context.Context, ids []int64) ([]Agent, error)
}

// AgentRev is an agent's row as it is known by its revision.
type AgentRev struct {
	ID, Rev int64
}

// Hosts are the rows of the hosts.
type Hosts interface {
	// TryWrite writes to the row of a host and changes nothing. An error says why the database takes no
	// writes.
	TryWrite(ctx context.Context, host string) error
	// HostRoot returns the data directory of a host; ErrNotFound if it was never seen.
	HostRoot(ctx context.Context, host string) (string, error)
}

// Store is everything the daemon needs of its database. Package storetest holds each store to this contract,
// and to what follows from it for all calls:
//
// A call whose context is over does nothing and returns its error. Rows belong to the caller, those that are
// given and those that are returned; lists are never nil. Times are kept in microseconds and returned in UTC,
// texts and JSON are kept as package storetext says. Ids ascend, with gaps: those of a change that was refused
// are not given again.
type Store interface {
	Committer
	AgentReader
	HandoffReader
	RecordReader
	PipelineReader
	HookReader
	DeliveryReader
	EventReader
	LogKeeper
	PruneForecast
	PreferenceStore
	OpenWork
	CensusReader
	Hosts
}
