// Package memory is the daemon's store in memory, for simulations and tests. It answers as the store on
// PostgreSQL does: both pass the suite of package storetest, which also compares them.
//
// A [Store] is safe for concurrent use; one mutex guards it. It starts no goroutine, draws no random number,
// asks only its clock for the time, and iterates in the order of ids, so that equal calls have equal results.
// It copies each row that it takes and each row that it returns.
//
// A transaction carries out its statements in the order in which PostgreSQL gets them, and checks the
// constraints of the schema under their names. If one of them does not hold, the transaction undoes its earlier
// statements. As with a sequence of PostgreSQL, it does not give back the ids that it took: the event log has
// gaps. A crash of the process loses everything.
package memory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
)

// Store is a database in memory. Make one with [New].
type Store struct{ rowStore }

// rowStore has the rows of agents and pipelines, and the transactions that write them. The store has besides what is kept of the past.
type rowStore struct{ view }

// view is how the tables are entered.
type view struct {
	*tables
	lends bool // the store returns its rows themselves, not copies
	gate  func(ctx context.Context, what string) error
}

type tables struct {
	// Clock returns the time of the host that writes. Set it only while no call runs.
	Clock func() time.Time

	mu sync.Mutex // never held across anything that can block

	sequences map[daemon.IDKind]int64 // the newest id of each kind
	lastEvent int64
	lastHook  int64
	lastPush  int64
	prunedTo  int64 // the log's floor

	agents      table[daemon.Agent]
	handoffs    table[daemon.Handoff]
	transitions table[[]daemon.Transition] // by handoff
	records     table[daemon.Record]       // by handoff
	deliveries  table[daemon.Delivery]
	permissions table[daemon.Permission]
	worktrees   table[daemon.Worktree]
	pipelines   table[daemon.Pipeline] // without their steps
	steps       table[daemon.Step]     // without derived fields
	outputs     table[daemon.StepHandoff]
	stepRecords table[daemon.StepRecord] // by the id of the output
	hooks       table[hook]
	hookKeys    map[string]int64
	events      table[eventRow]
	pushes      table[tell.Push]
	usage       usage
	samples     table[[]daemon.ContextSample] // by agent, in the order of their times
	preferences map[string]tell.Preferences   // by host
	roots       map[string]string             // data directories by host
}

var _ daemon.Store = (*Store)(nil)

// hook is a hook that was stored.
type hook struct {
	daemon.StoredHook
	key    string
	result daemon.HookResult // the answer if the hook comes again
}

// event is an event of the log.
type eventRow struct {
	event.Event
	alerted bool
}

// New returns an empty store.
func New() *Store {
	return &Store{rowStore{view{tables: &tables{
		Clock: time.Now,
		sequences: map[daemon.IDKind]int64{
			daemon.AgentIDs: 0, daemon.HandoffIDs: 0, daemon.DeliveryIDs: 0,
			daemon.PipelineIDs: 0, daemon.StepIDs: 0, daemon.OutputIDs: 0, daemon.WorktreeIDs: 0,
		},
		usage: newUsage(), hookKeys: map[string]int64{}, preferences: map[string]tell.Preferences{}, roots: map[string]string{},
	}}}}
}

// Lending returns a view of the store that returns its rows without copying them. The caller must not change
// anything that such a row refers to. The checks of a simulation use it, because they read all rows after each
// transaction.
func (s *Store) Lending() *Store { return &Store{rowStore{view{tables: s.tables, lends: true}}} }

// Gated returns a view of the store in which each call first calls gate. If gate returns an error, the call returns it
// and does nothing else. what names the call.
func (s *Store) Gated(gate func(ctx context.Context, what string) error) *Store {
	return &Store{rowStore{view{tables: s.tables, lends: s.lends, gate: gate}}}
}

// enter locks the store for one call, which calls leave at its end. It refuses a call whose context has ended.
// what names the call.
func (s *view) enter(ctx context.Context, what string, args ...any) (leave func(), err error) {
	if s.gate != nil {
		if err := s.gate(ctx, fmt.Sprintf(what, args...)); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf(what+": %w", append(args, err)...)
	}
	s.mu.Lock()
	return s.mu.Unlock, nil
}

// now returns the time as PostgreSQL keeps it.
func (s *view) now() time.Time { return micros(s.Clock()) }

// micros returns a time as PostgreSQL keeps it.
func micros(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// NextID returns a fresh id for a row of the given kind.
func (s *view) NextID(ctx context.Context, kind daemon.IDKind) (int64, error) {
	leave, err := s.enter(ctx, "next id of %s", kind)
	if err != nil {
		return 0, err
	}
	defer leave()
	if _, known := s.sequences[kind]; !known {
		return 0, fmt.Errorf("next id: unknown kind %q", kind)
	}
	s.sequences[kind]++
	return s.sequences[kind], nil
}

// limitOr returns limit, or def if limit is not set.
func limitOr(limit, def int) int {
	if limit <= 0 {
		return def
	}
	return limit
}
