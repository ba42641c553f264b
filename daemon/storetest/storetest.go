// Package storetest is the test suite that every [daemon.Store] must pass: the store on PostgreSQL, and the
// store in memory on which simulations run. [Compare] draws actions from a seed and carries them out on two
// stores, whose answers must be equal. Package db tests what only PostgreSQL has: locks, plans, connections and
// migrations.
//
// Tests of the suite run at the same time, each with a store of its own. A crash leaves nothing but that store.
package storetest

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// Harness is an empty store, and the writes that a test needs but cannot make by the store's own methods.
type Harness struct {
	Store daemon.Store
	// SetHost writes the row of a host with its data directory, as the heartbeat of the host's daemon does.
	SetHost func(t testing.TB, host, dataRoot string)
	// Line commits n copies of an agent. Each is the successor of the one before; the first is the agent's own
	// successor. Their ids follow the agent's id.
	Line func(t testing.TB, first *daemon.Agent, n int)
}

var tests = []struct {
	name string
	run  func(*testing.T, Harness)
}{
	{"ListsHaveALimit", alone(listsHaveALimit)},
	{"OneOfManyMoversWins", alone(oneOfManyMoversWins)},
	{"MovedLeavesNothing", alone(movedLeavesNothing)},
	{"ConstraintsKeepNonsenseOut", alone(constraintsKeepNonsenseOut)},
	{"OneOfManyWritersOfAPipelineWins", alone(oneOfManyWritersOfAPipelineWins)},
	{"MovedPipelineLeavesNothing", alone(movedPipelineLeavesNothing)},
	{"AStepLeavesOneOutput", alone(aStepLeavesOneOutput)},
	{"TheNextStepBeginsAsOneEnds", alone(theNextStepBeginsAsOneEnds)},
	{"ConstraintsKeepNonsenseOutOfPipelines", alone(constraintsKeepNonsenseOutOfPipelines)},
	{"AdmissionUnderPressure", alone(admissionUnderPressure)},
	{"AdmissionKeepsTheOrder", alone(admissionKeepsTheOrder)},
	{"ReaderMissesNothing", alone(readerMissesNothing)},
	{"AlertsAreToldOnce", alone(alertsAreToldOnce)},
	{"OneHandoffPerAgent", alone(oneHandoffPerAgent)},
	{"OneHandoffAmongManyRequests", alone(oneHandoffAmongManyRequests)},
	{"TheOpenHandoffMeetsARetry", alone(theOpenHandoffMeetsARetry)},
	{"HeirsAreNobodyElses", alone(heirsAreNobodyElses)},
	{"ADocumentIsOneHandoffs", alone(aDocumentIsOneHandoffs)},
	{"HookFindsItsAgent", alone(hookFindsItsAgent)},
	{"HookIsStoredOnce", alone(hookIsStoredOnce)},
	{"AgentRegistersItselfOnce", alone(agentRegistersItselfOnce)},
	{"HooksOfAnAgentAreAppliedInTheOrderOfTheirIDs", alone(hooksOfAnAgentAreAppliedInTheOrderOfTheirIDs)},
	{"HookThatFailsLeavesNothing", alone(hookThatFailsLeavesNothing)},
	{"ReadersSeeNoPipelineHalfWritten", alone(readersSeeNoPipelineHalfWritten)},
	{"LineIsLookedBackOverAThousandAgents", lineIsLookedBackOverAThousandAgents},
	{"PruneEventsKeepsWhatIsNeeded", alone(pruneEventsKeepsWhatIsNeeded)},
	{"PruneTogether", alone(pruneTogether)},
	{"PruneHistoryKeepsWhatIsNeeded", alone(pruneHistoryKeepsWhatIsNeeded)},
	{"Preferences", alone(preferences)},
	{"PushIsClaimedOnce", alone(pushIsClaimedOnce)},
	{"UsageIsCountedOnce", alone(usageIsCountedOnce)},
	{"BudgetMarksAreMadeOnce", alone(budgetMarksAreMadeOnce)},
	{"HostRoot", hostRoot},
	{"TryWriteChangesNothing", tryWriteChangesNothing},
	{"CallsWithoutContext", alone(callsWithoutContext)},
	{"RowsAreCopied", alone(rowsAreCopied)},
}

// alone wraps a test that needs nothing but a store.
func alone(run func(*testing.T, daemon.Store)) func(*testing.T, Harness) {
	return func(t *testing.T, h Harness) { run(t, h.Store) }
}

// Run runs the suite, each test with a store of its own.
func Run(t *testing.T, open func(*testing.T) Harness) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, open(t))
		})
	}
}

// must returns the result of a call that must not fail.
func must[T any](t testing.TB, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// now returns the time in microseconds, as a store keeps it.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

// violates reports whether a store refused a change because of the constraint. All stores use the names of the
// schema's constraints.
func violates(err error, constraint string) bool {
	return err != nil && strings.Contains(err.Error(), strconv.Quote(constraint)) &&
		!errors.Is(err, daemon.ErrMoved) && !errors.Is(err, daemon.ErrOpenHandoff) && !errors.Is(err, daemon.ErrNoRoom)
}
