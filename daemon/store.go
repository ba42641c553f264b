package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
)

// Change is one transaction: all of it is committed, or nothing. Rows are written whole. Each existing row is guarded
// by the Rev with which it was read; a handoff by its phase and Seq, a pipeline by its Seq. If another writer changed
// a row first, Commit writes nothing and returns [ErrMoved].
//
// Commit locks rows in a fixed order (agents by id, the handoff, deliveries by id) and appends events last, so
// changes cannot deadlock with each other or with a hook.
type Change struct {
	NewAgent       *Agent      // ID taken from NextID beforehand
	Agents         []*Agent    // guarded by Rev, which is advanced in place
	NewHandoff     *Handoff    // ID taken from NextID beforehand; ErrOpenHandoff
	Move           *Move       // guarded by From and Seq
	NewDeliveries  []*Delivery // IDs taken from NextID beforehand
	Deliveries     []*Delivery // guarded by Rev, which is advanced in place
	NewPermissions []*Permission
	Permissions    []*Permission // guarded by Rev, which is advanced in place
	NewWorktree    *Worktree     // ID taken from NextID beforehand
	Worktrees      []*Worktree   // guarded by Rev, which is advanced in place
	NewRecord      *Record       // the record of the handoff in Move; replaces an earlier record
	// DropQueued is the id of an agent whose queued deliveries become not_submitted, with DropEvidence. Deliveries in
	// NewDeliveries stay as they are.
	DropQueued    int64
	DropEvidence  EvidenceCode
	SpareMessages bool          // DropQueued leaves the queued messages, which wait for the agent's successor
	NewPipeline   *Pipeline     // with all its Steps; IDs taken from NextID beforehand
	PipelineMove  *PipelineMove // guarded by Seq
	NewStepRecord *StepRecord   // beside NewOutput: the large part of it
	NewOutput     *StepHandoff  // ID taken from NextID beforehand; ErrMoved if its step has one
	// Admit, if not 0, is how many pipelines, and how many agents of pipelines, may be at work after this change on the
	// host of NewPipeline or PipelineMove. If there would be more, Commit returns ErrNoRoom.
	Admit int
	// UsageReads are transcripts whose usage is to be counted from their beginning, unless they are known already.
	UsageReads  []UsageRead
	Samples     []ContextSample // of one moment of an agent, one is kept
	BudgetMarks []*BudgetMark   // ErrMoved if one of them was made before
	Events      []*event.Event  // Commit sets each ID, and At where it is zero

	DropAsked bool        // the operator has asked for what DropQueued does, so that no alert tells of it
	Dropped   []*Delivery // the deliveries that DropQueued drops and that are not in Deliveries; for the counts only
}

// PipelineMove writes a pipeline, and those of its steps that are in Steps. The pipeline's Seq is advanced in place. Derived
// fields are not written.
type PipelineMove struct {
	Pipeline *Pipeline
	Steps    []*Step
	NewSteps []*Step // written after Steps; IDs taken from NextID beforehand
}

// InOrder returns Steps in the order in which a store must write them, because the database checks each row as it is written:
// the step that becomes running comes last, and before it those with the highest OrderIndex first, which make room.
func (m *PipelineMove) InOrder() []*Step {
	begins := func(s *Step) int {
		if s.Status == StepRunning {
			return 1
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(m.Steps), func(a, b *Step) int {
		return cmp.Or(cmp.Compare(begins(a), begins(b)), cmp.Compare(b.OrderIndex, a.OrderIndex))
	})
}

// Pipelines returns the pipelines that the change writes.
func (c *Change) Pipelines() (pipelines []*Pipeline) {
	if c.NewPipeline != nil {
		pipelines = append(pipelines, c.NewPipeline)
	}
	if c.PipelineMove != nil {
		pipelines = append(pipelines, c.PipelineMove.Pipeline)
	}
	return pipelines
}

// Attribute sets the pipeline and the step of an event about an agent that works for a pipeline.
func (c *Change) Attribute(e *event.Event) {
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

// Move writes a handoff that was read in phase From. Handoff.Seq is advanced in place. If the phase has changed,
// Commit writes the row of a transition, too.
type Move struct {
	Handoff *Handoff
	From    Phase
	Cause   string
}

// Committer is the daemon's only way to write.
type Committer interface {
	// Commit commits c. With each of these errors it has written nothing:
	//   - ErrMoved: another writer changed a row first.
	//   - ErrOpenHandoff: the agent already has its one open handoff. A new row and a move out of failed get this error.
	//   - ErrNoRoom: c.Admit would be exceeded, or an older pipeline of the host is pending. Of two changes that ask for
	//     admission at once, the second sees the first.
	Commit(ctx context.Context, c *Change) error
	// RecordHook stores a hook and carries out the decision that decide returns, in one transaction: see [HookTx]. decide
	// must neither block nor call the store. If another writer changed a row first, RecordHook calls decide again with
	// fresh rows.
	RecordHook(ctx context.Context, in HookInput, decide func(HookTx) HookDecision) (HookResult, error)
	// NextID returns an unused id for a new row of the given kind.
	NextID(ctx context.Context, kind IDKind) (int64, error)
}

// HookInput is a hook as it came in, with what identifies its agent.
type HookInput struct {
	Key        string // unique; a hook that comes again is answered from its row
	Event      string
	Host       string
	LaunchHash []byte // SHA-256 of the launch secret; nil: an agent that a person started
	PID        int    // the runtime's process, 0 unknown
	PIDStart   uint64 // 0 when the process is gone or unknown
	SessionID  string
	Body       json.RawMessage
	At         time.Time
	Replayed   bool // it comes from the spool: its sender got no complete answer before
}

// HookTx is what the transaction of a hook has locked: the hook's agent, that agent's open handoff, and its open
// deliveries, the oldest first.
//
// The agent is found by the launch hash. A hook without one belongs to an agent that a person started on this host.
// That agent is found by the process; if the process is gone, by the session.
type HookTx struct {
	HookID     int64 // the id that the hook's row will have
	Agent      *Agent
	NewAgentID int64 // the id for an agent that registers with this hook; only set if Agent is nil
	Handoff    *Handoff
	Deliveries []*Delivery
	// Again says that a hook with this key is stored already. Its row is not written again. Then only a replayed Stop
	// still matters, because its answer did not arrive.
	Again bool
}

// HookDecision is what the daemon decides about a hook.
type HookDecision struct {
	// Undone, if not nil, is the error that RecordHook returns. RecordHook then writes nothing, not even the hook.
	Undone  error
	Applied bool
	Reason  string          // why it was not applied
	Output  json.RawMessage // the answer to the hook; nil: none
	Change  Change          // committed with the hook's row
}

// HookResult is the result of a hook.
type HookResult struct {
	HookID  int64
	AgentID int64 // 0: the hook belongs to no agent
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

// AgentFilter narrows a list of agents. Fields with zero values do not narrow it.
type AgentFilter struct {
	State    AgentState
	Persona  string
	Host     string
	Active   bool  // only those that have not ended
	Before   int64 // only agents with a lesser id
	Limit    int   // 0: 100
	Previous int64 // only successors of this agent
	Lately   bool  // only agents that have ended, the newest end first; of the other fields only Limit counts
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

// HandoffFilter narrows a list of handoffs. Fields with zero values do not narrow it.
type HandoffFilter struct {
	AgentID     int64 // the outgoing agent
	SuccessorID int64
	Persona     string
	Status      Status
	Host        string
	Open        bool
	Last        bool // only handoffs that are the last one of their agent
	Before      int64
	Limit       int // 0: 100
}

// RecordReader reads the records of handoffs. A line is agents of which each is the predecessor of the next.
type RecordReader interface {
	// Record returns ErrNotFound for a handoff that has none.
	Record(ctx context.Context, handoffID int64) (Record, error)
	// LineRecords returns the records of the agents before q.AgentID in its line, beginning with the record of its
	// predecessor. It leaves out Document and Context.
	LineRecords(ctx context.Context, q LineQuery) ([]Record, error)
	// LineHandoffs returns the handoffs of the whole line of an agent, before it and after it, the newest first, at most
	// limit; 0: 100.
	LineHandoffs(ctx context.Context, agentID int64, limit int) ([]Handoff, error)
}

// LineQuery says how much of a line is read.
type LineQuery struct {
	AgentID      int64
	Limit        int   // how many records; 0: 100
	Messages     int   // records come with their messages until there are this many; 0: none
	MessageBytes int64 // or until the messages are about this large
}

// PipelineReader reads pipelines.
type PipelineReader interface {
	// Pipeline returns a pipeline with its steps; ErrNotFound for an unknown id.
	Pipeline(ctx context.Context, id int64) (Pipeline, error)
	// Pipelines lists the newest first, with their steps.
	Pipelines(ctx context.Context, f PipelineFilter) ([]Pipeline, error)
	// PipelinePlaces returns the directories of the host's pipelines that have not ended, the oldest first.
	PipelinePlaces(ctx context.Context, host string) ([]PipelinePlace, error)
	// StepRecord returns the large part of a step's output; ErrNotFound if none was stored with that output.
	StepRecord(ctx context.Context, outputID int64) (StepRecord, error)
}

// PipelinePlace is the directory in which a pipeline works; "": it has none yet.
type PipelinePlace struct {
	ID      int64
	WorkDir string
}

// PipelineFilter narrows a list of pipelines. Fields with zero values do not narrow it.
type PipelineFilter struct {
	Status   PipelineStatus
	Template string
	Host     string
	Open     bool // only those that have not ended
	Before   int64
	Limit    int // 0: 100
}

// HookReader reads stored hooks.
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
	// Deliveries lists an agent's deliveries, and those that were passed on from it, with an id less than before (0: all), at
	// most limit (0: 100), the newest first.
	Deliveries(ctx context.Context, agentID, before int64, limit int) ([]Delivery, error)
	// OpenDeliveries lists an agent's deliveries without a verdict, the oldest first.
	OpenDeliveries(ctx context.Context, agentID int64) ([]Delivery, error)
	// Sent counts the messages that an agent has sent to other agents, as far back as the event log goes.
	Sent(ctx context.Context, agentID int64, since time.Time) (Sent, error)
}

// Sent is how much an agent has sent to other agents.
type Sent struct {
	Open   int        // messages without a verdict, whenever they were sent
	Recent int        // messages since the given time
	First  *time.Time // when the oldest recent message was sent; nil: there is none
}

// EventReader reads the event log.
type EventReader interface {
	// Events returns the events after f.After, in order.
	Events(ctx context.Context, f event.Filter) ([]event.Event, error)
	// LastEventID returns the newest id, 0 when there is none.
	LastEventID(ctx context.Context) (int64, error)
	// PendingAlerts returns the host's alerts and notices that were not marked, at most limit (0: 100): first the alerts,
	// in order; then the first notice of each agent and each pipeline, then the second of each, and so on.
	PendingAlerts(ctx context.Context, host string, limit int) ([]event.Event, error)
	// MarkAlerted marks events, and stores the event told, which records that the operator was told; nil: none is stored,
	// because the operator need not be told. It also stores the pushes, as pending. ErrMoved: one of the events was marked
	// before, and nothing was written.
	MarkAlerted(ctx context.Context, ids []int64, told *event.Event, pushes ...tell.Push) error
}

// LogKeeper reads the event log backwards, and deletes old events, hooks and history.
type LogKeeper interface {
	// Audit returns events, the newest first. A search that takes too long is an [Error].
	Audit(ctx context.Context, f AuditFilter) ([]event.Event, error)
	// LogFloor says how far the log has been pruned.
	LogFloor(ctx context.Context) (LogFloor, error)
	// PruneEvents deletes some of the events beyond the limits of l, the oldest first. It leaves events that are younger
	// than NeverPruned, alerts and notices that are not marked, and events of handoffs and pipelines that have not ended. If
	// it deletes none, none is left to delete.
	PruneEvents(ctx context.Context, l PruneLimits) (Pruned, error)
	// PruneHooks deletes some hooks in the same way. It leaves hooks that an agent's row names.
	PruneHooks(ctx context.Context, l PruneLimits) (Pruned, error)
	// PruneHistory deletes some pipelines that ended before the given time. If there are none, it deletes some agents
	// that ended before that time, with their handoffs, records, deliveries and hooks. It begins with the oldest, and
	// deletes at most most pipelines or agents; 0: 5000. It leaves an agent while a later agent of its line is there,
	// while its predecessor has not ended, while its pipeline is there, and while a handoff or a delivery of the agent is
	// open. If it deletes none, none is left to delete.
	PruneHistory(ctx context.Context, before time.Time, most int) (PrunedHistory, error)
}

// OpenWork finds what has, or may have, something to do on a host. The sweep asks it each second.
type OpenWork interface {
	// Open returns the rows of the host for which a lane has, or may have, work.
	Open(ctx context.Context, host string) (Open, error)
	// ActiveAgents returns all of the host's agents that have not ended, in the order of their ids.
	ActiveAgents(ctx context.Context, host string) ([]AgentRev, error)
	// AgentsByID returns the agents with the given ids, in the order of their ids. It leaves out unknown ids.
	AgentsByID(ctx context.Context, ids []int64) ([]Agent, error)
}

// Open are the ids of the rows for which a lane has, or may have, work, in the order of the ids.
type Open struct {
	// Agents are the agents that have not ended and are starting or were asked to stop, all with an open handoff or an open
	// delivery, and those that have ended and of which nobody has decided yet whether they read their handoff.
	Agents []int64
	// Pipelines are all that have not ended, but of the pending ones only the oldest.
	Pipelines []int64
	// Trees are the work trees that are planned or have a task.
	Trees []int64
}

// AgentRev is the id and the revision of an agent's row.
type AgentRev struct {
	ID, Rev int64
}

// Hosts reads the rows of the hosts.
type Hosts interface {
	// TryWrite writes the row of a host without changing it. Its error says why the database takes no writes.
	TryWrite(ctx context.Context, host string) error
	// HostRoot returns the data directory of a host; ErrNotFound, if the host has never used this database.
	HostRoot(ctx context.Context, host string) (string, error)
}

// Store is everything that the daemon needs from its database. Package storetest tests each store against this contract
// and against these rules for all calls:
//
// A call whose context has ended does nothing and returns the error of the context. The rows that are given and returned
// belong to the caller. Lists are never nil. Times are kept in microseconds and returned in UTC. Texts and JSON are kept
// as package storetext says. Ids ascend, with gaps: ids of a change that was refused are not given again.
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
	tell.PushStore
	UsageStore
	TimelineStore
	OpenWork
	PermissionReader
	WorktreeReader
	CensusReader
	Hosts
}
