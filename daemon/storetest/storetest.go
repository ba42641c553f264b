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
	{"AgentIsKeptWhole", alone(agentIsKeptWhole)},
	{"AgentSuccessorIsTheNewest", alone(agentSuccessorIsTheNewest)},
	{"UnknownAgent", alone(unknownAgent)},
	{"ListAgents", alone(listAgents)},
	{"AgentsByTheirEnds", alone(agentsByTheirEnds)},
	{"ListsHaveALimit", alone(listsHaveALimit)},
	{"OpenAgents", alone(openAgents)},
	{"ActiveAgents", alone(activeAgents)},
	{"NextID", alone(nextID)},
	{"OneOfManyMoversWins", alone(oneOfManyMoversWins)},
	{"MovedLeavesNothing", alone(movedLeavesNothing)},
	{"EmptyChange", alone(emptyChange)},
	{"ConstraintsKeepNonsenseOut", alone(constraintsKeepNonsenseOut)},
	{"OneOfManyWritersOfAPipelineWins", alone(oneOfManyWritersOfAPipelineWins)},
	{"MovedPipelineLeavesNothing", alone(movedPipelineLeavesNothing)},
	{"AStepLeavesOneOutput", alone(aStepLeavesOneOutput)},
	{"AFurtherRoundComesBetween", alone(aFurtherRoundComesBetween)},
	{"TheNextStepBeginsAsOneEnds", alone(theNextStepBeginsAsOneEnds)},
	{"ConstraintsKeepNonsenseOutOfPipelines", alone(constraintsKeepNonsenseOutOfPipelines)},
	{"AdmissionUnderPressure", alone(admissionUnderPressure)},
	{"AdmissionCountsWhatIsAtWork", alone(admissionCountsWhatIsAtWork)},
	{"AdmissionKeepsTheOrder", alone(admissionKeepsTheOrder)},
	{"Census", alone(census)},
	{"DeliveryIsKeptWhole", alone(deliveryIsKeptWhole)},
	{"ListsOfDeliveries", alone(listsOfDeliveries)},
	{"PermissionIsKeptWhole", alone(permissionIsKeptWhole)},
	{"ListsOfPermissions", alone(listsOfPermissions)},
	{"WorktreeIsKeptWhole", alone(worktreeIsKeptWhole)},
	{"ListsOfWorktrees", alone(listsOfWorktrees)},
	{"WorktreeOutlivesItsPipeline", alone(worktreeOutlivesItsPipeline)},
	{"DropQueued", alone(dropQueued)},
	{"SpareMessages", alone(messagesAreSpared)},
	{"SentIsCounted", alone(sentIsCounted)},
	{"ReaderMissesNothing", alone(readerMissesNothing)},
	{"EventIsKeptWhole", alone(eventIsKeptWhole)},
	{"ListOfEvents", alone(listOfEvents)},
	{"AlertsAreToldOnce", alone(alertsAreToldOnce)},
	{"PendingAlertsAreInOrder", alone(pendingAlertsAreInOrder)},
	{"HandoffIsKeptWhole", alone(handoffIsKeptWhole)},
	{"StatusFollowsThePhase", alone(statusFollowsThePhase)},
	{"OneHandoffPerAgent", alone(oneHandoffPerAgent)},
	{"OneHandoffAmongManyRequests", alone(oneHandoffAmongManyRequests)},
	{"TheRecordStandsFromRecordedOn", alone(theRecordStandsFromRecordedOn)},
	{"TransitionsAreTheChangesOfPhase", alone(transitionsAreTheChangesOfPhase)},
	{"ListOfHandoffs", alone(listOfHandoffs)},
	{"TheOpenHandoffMeetsARetry", alone(theOpenHandoffMeetsARetry)},
	{"HeirsHaveRows", alone(heirsHaveRows)},
	{"ADocumentIsOneHandoffs", alone(aDocumentIsOneHandoffs)},
	{"HookFindsItsAgent", alone(hookFindsItsAgent)},
	{"HookLocksWhatIsOpen", alone(hookLocksWhatIsOpen)},
	{"HookComesAgain", alone(hookComesAgain)},
	{"HookIsStoredOnce", alone(hookIsStoredOnce)},
	{"AgentRegistersItselfOnce", alone(agentRegistersItselfOnce)},
	{"HooksOfAnAgentAreAppliedInTheOrderOfTheirIDs", alone(hooksOfAnAgentAreAppliedInTheOrderOfTheirIDs)},
	{"HookThatFailsLeavesNothing", alone(hookThatFailsLeavesNothing)},
	{"UndoneHookLeavesNothing", alone(undoneHookLeavesNothing)},
	{"HookWithAnyBytes", alone(hookWithAnyBytes)},
	{"StoredHook", alone(storedHook)},
	{"PipelineIsKeptWhole", alone(pipelineIsKeptWhole)},
	{"PipelinesKeepStrangeBytes", alone(pipelinesKeepStrangeBytes)},
	{"ListOfPipelines", alone(listOfPipelines)},
	{"ReadersSeeNoPipelineHalfWritten", alone(readersSeeNoPipelineHalfWritten)},
	{"OpenPipelinesOfManyPending", alone(openPipelinesOfManyPending)},
	{"RecordIsKeptWhole", alone(recordIsKeptWhole)},
	{"RecordIsReplaced", alone(recordIsReplaced)},
	{"RecordWithAnyBytes", alone(recordWithAnyBytes)},
	{"HooksLeaveTheRecordAlone", alone(hooksLeaveTheRecordAlone)},
	{"RecordsOfALine", alone(recordsOfALine)},
	{"MessagesOfALine", alone(messagesOfALine)},
	{"HandoffsOfALine", alone(handoffsOfALine)},
	{"LineInACircle", alone(lineInACircle)},
	{"LineIsLookedBackOverAThousandAgents", lineIsLookedBackOverAThousandAgents},
	{"PruneEventsKeepsWhatIsNeeded", alone(pruneEventsKeepsWhatIsNeeded)},
	{"FloorStays", alone(floorStays)},
	{"PruneTheOldestFirst", alone(pruneTheOldestFirst)},
	{"LogThatIsEmptied", alone(logThatIsEmptied)},
	{"PruneTogether", alone(pruneTogether)},
	{"PruneHistory", alone(pruneHistory)},
	{"PruneHistoryKeepsWhatIsNeeded", alone(pruneHistoryKeepsWhatIsNeeded)},
	{"PruneHooks", alone(pruneHooks)},
	{"Audit", alone(audit)},
	{"Preferences", alone(preferences)},
	{"Pushes", alone(pushes)},
	{"UsageIsCountedOnce", alone(usageIsCountedOnce)},
	{"UsageOfRuns", alone(usageOfRuns)},
	{"SamplesAreKept", alone(samplesAreKept)},
	{"StatesOfAgents", alone(statesOfAgents)},
	{"CompletedMetrics", alone(completedMetrics)},
	{"AgentLives", alone(agentLives)},
	{"BudgetMarksAreMadeOnce", alone(budgetMarksAreMadeOnce)},
	{"HostRoot", hostRoot},
	{"TryWriteChangesNothing", tryWriteChangesNothing},
	{"CallsWithoutContext", alone(callsWithoutContext)},
	{"RowsAreCopied", alone(rowsAreCopied)},
	{"TimesAreMicroseconds", alone(timesAreMicroseconds)},
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

func ptr[T any](v T) *T { return &v }

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
