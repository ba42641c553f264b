package db

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// statements are all statements that the package sends. Fragments of statements are left out.
var statements = map[string]string{
	"insertAgent": insertAgent, "updateAgent": updateAgent, "selectAgent": selectAgent,
	"selectAgentByLaunch": selectAgentByLaunch, "listAgents": listAgents, "listOpen": listOpen, "listOpenAgents": listOpenAgents, "listOpenPipelines": listOpenPipelines, "listOpenWorktrees": listOpenWorktrees, "listActiveAgents": listActiveAgents, "listAgentsByID": listAgentsByID, "nextID": nextID,
	"insertHandoff": insertHandoff, "writeHeir": writeHeir, "updateHandoff": updateHandoff, "selectHandoff": selectHandoff,
	"listHandoffs": listHandoffs, "insertTransition": insertTransition, "listTransitions": listTransitions,
	"insertRecord": insertRecord, "deleteRecord": deleteRecord, "insertDecision": insertDecision,
	"selectRecord": selectRecord, "listLineRecords": listLineRecords, "listLineHandoffs": listLineHandoffs,
	"insertPermission": insertPermission, "updatePermission": updatePermission, "selectPermissions": selectPermissions, "selectPermission": selectPermission,
	"insertWorktree": insertWorktree, "updateWorktree": updateWorktree, "selectWorktrees": selectWorktrees, "selectWorktree": selectWorktree,
	"listWorktrees":   listWorktrees,
	"listPermissions": listPermissions, "listOpenPermissions": listOpenPermissions,
	"insertDelivery": insertDelivery, "updateDelivery": updateDelivery, "lockDeliveries": lockDeliveries,
	"dropQueued": dropQueued, "selectDelivery": selectDelivery, "listDeliveries": listDeliveries,
	"listOpenDeliveries": listOpenDeliveries, "countSent": countSent,
	"notifyEvents": notifyEvents, "lockEvents": lockEvents, "insertEvents": insertEvents, "listEvents": listEvents,
	"listAudit": listAudit, "limitStatement": limitStatement, "selectFloor": selectFloor,
	"pruneOldEvents": pruneOldEvents, "pruneManyEvents": pruneManyEvents, "pruneHooks": pruneHooks,
	"lastEventID": lastEventID, "listPendingAlerts": listPendingAlerts, "markAlerted": markAlerted,
	"selectPreferences": selectPreferences, "lockPreferences": lockPreferences, "addPreferences": addPreferences, "updatePreferences": updatePreferences,
	"insertPush": insertPush, "listOpenPushes": listOpenPushes, "updatePush": updatePush, "listPushReports": listPushReports, "prunePushes": prunePushes,
	"moveUsageRead": moveUsageRead, "insertUsage": insertUsage, "insertUsageRead": insertUsageRead, "insertBudgetMark": insertBudgetMark,
	"listUsageReads": listUsageReads, "sumUsage": sumUsage, "listBudgetMarks": listBudgetMarks,
	"insertSample": insertSample, "listLives": listLives, "listStateChanges": listStateChanges, "listSamples": listSamples, "listCompletedMetrics": listCompletedMetrics, "pruneSamples": pruneSamples,
	"census":           census,
	"listOldPipelines": listOldPipelines, "detachAgents": detachAgents, "detachTrees": detachTrees, "oldTrees": oldTrees, "linkOldTrees": linkOldTrees, "insertOldTrees": insertOldTrees, "deleteOutputs": deleteOutputs, "deleteSteps": deleteSteps, "deletePipelines": deletePipelines, "listOldAgents": listOldAgents, "listHandoffsOf": listHandoffsOf, "deleteTransitions": deleteTransitions, "deleteRecords": deleteRecords, "deleteDeliveries": deleteDeliveries, "deleteHandoffs": deleteHandoffs, "deletePermissions": deletePermissions, "deleteHooks": deleteHooks, "deleteAgents": deleteAgents,
	"notifyWake": notifyWake, "notifyPipelineWake": notifyPipelineWake,
	"insertPipeline": insertPipeline, "insertStep": insertStep, "insertOutput": insertOutput, "insertStepRecord": insertStepRecord, "selectStepRecord": selectStepRecord,
	"updatePipeline": updatePipeline, "updateStep": updateStep, "selectPipeline": selectPipeline,
	"listPipelines": listPipelines, "listSteps": listSteps,
	"listPipelinePlaces": listPipelinePlaces,
	"lockAdmission":      lockAdmission, "hasRoom": hasRoom,
	"selectHook": selectHook, "nextHookID": nextHookID, "lockAgent": lockAgent, "lockAgentByLaunch": lockAgentByLaunch,
	"lockAgentByProcess": lockAgentByProcess, "lockAgentBySession": lockAgentBySession,
	"lockOpenHandoff": lockOpenHandoff, "lockOpenDeliveries": lockOpenDeliveries, "insertHook": insertHook,
	"markReplayed": markReplayed, "selectStoredHook": selectStoredHook,
	"upsertHost": upsertHost, "listHosts": listHosts, "hostRoot": hostRoot, "tryHostLock": tryHostLock,
	"selectHostSession": selectHostSession, "endSession": endSession, "selectHolder": selectHolder, "upsertHolder": upsertHolder,
	"writeHost": writeHost, "writeMuch": writeMuch,
	"tryMigrationLock": tryMigrationLock, "migrationUnlock": migrationUnlock, "selectOldest": selectOldest, "hasVersions": hasVersions, "selectVersions": selectVersions,
	"selectAgents": selectAgents, "selectHandoffs": selectHandoffs, "selectDeliveries": selectDeliveries,
	"selectEvents": selectEvents, "selectPipelines": selectPipelines,
}

func TestStatementsPrepare(t *testing.T) {
	t.Parallel()
	db := open(t)
	conn := value(db.pool.Acquire(t.Context()))(t)
	defer conn.Release()
	for name, sql := range statements {
		if _, err := conn.Conn().Prepare(t.Context(), "test_"+name, sql); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStatementsAreAllListed finds SQL in the package's source that the list above does not name.
func TestStatementsAreAllListed(t *testing.T) {
	t.Parallel()
	verb := regexp.MustCompile(`^\s*(?i:SELECT|INSERT|UPDATE|DELETE|WITH|TRUNCATE|CREATE|DROP|ALTER)\s`)
	files := value(os.ReadDir("."))(t)
	found := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed := value(parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0))(t)
		var name string // of the constant or variable that is being declared
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				name = "func " + n.Name.Name
			case *ast.ValueSpec:
				name = n.Names[0].Name
			case *ast.BasicLit:
				text, err := strconv.Unquote(n.Value)
				if n.Kind != token.STRING || err != nil || !verb.MatchString(text) {
					return true
				}
				found++
				if _, ok := statements[name]; !ok {
					t.Errorf("%s: %s: SQL that is not prepared by a test: %.40q", f.Name(), name, text)
				}
			}
			return true
		})
	}
	if found < 20 {
		t.Errorf("only %d statements were found", found)
	}
}
