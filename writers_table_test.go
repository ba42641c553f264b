package understudy_test

// rows are the types of the rows that the domain writes, with the names that the table gives them. Rows that are only appended, by whoever
// commits, are not among them: events, and transitions, which the store makes of moves. A Change is no row, but has the store write some.
var rows = map[string]string{
	"daemon.Agent": "Agent", "daemon.Handoff": "Handoff", "daemon.HandoffHeir": "HandoffHeir", "daemon.Heir": "HandoffHeir",
	"daemon.Record": "Record", "daemon.Delivery": "Delivery", "daemon.Permission": "Permission", "daemon.Worktree": "Worktree",
	"daemon.Pipeline": "Pipeline", "daemon.Step": "Step", "daemon.StepHandoff": "StepHandoff", "daemon.StepRecord": "StepRecord",
	"daemon.UsageRead": "UsageRead", "daemon.UsageAdded": "UsageAdded", "daemon.BudgetMark": "BudgetMark",
	"daemon.ContextSample": "ContextSample", "tell.Push": "Push", "tell.Preferences": "Preferences",
	"daemon.HookInput": "Hook", "daemon.HookDecision": "Hook", "daemon.Change": "Change",
}

// noColumns are fields of rows that package db reads, and that are no columns, or that the store alone writes, as it does every Rev and Seq.
var noColumns = []string{"Push.ID", "Handoff.Heirs", "Pipeline.Steps", "Hook.LaunchHash", "Hook.PID", "Hook.PIDStart", "Hook.Change", "Hook.Undone"}

// alsoWrites are fields of a Change by which the store writes columns.
var alsoWrites = map[string][]string{
	"Change.DropQueued": {"Delivery.State", "Delivery.Verdict", "Delivery.Evidence", "Delivery.DecidedAt"},
}

// parts are the parts of the engine that are not rooms yet, by the names of their files.
var parts = map[string]string{
	"engine": "commit clock daemon doc duty env env_sight env_work events facts memory prune recover reload roster runtime work counts processes " +
		"interrupt prompt",
	"sight":      "watch* rest moved tail quiet opening look background dialog pane_line pane_says control reading server_gone",
	"deliveries": "deliveries* messages* peers refused silence",
	"agents":     "agents agent_name launch* place stop* resume* account persona_rename preflight* dismiss seen",
	"handoffs":   "handoff* heir* assemble* flow generate_run record requirements retry worked limit_document line step choices",
	"hooks":      "hook* report spooled waits trouble turn limit permission*",
	"usage":      "usage* budget context_use context_auto day limit_rules",
	"worktrees":  "worktree* diff",
	"views":      "attention* held",
}

// beginnings are the functions that make a row, and give its columns their first values before it is stored. They do not count as writers: a
// column's writer is who changes it from then on. The list may only become shorter.
var beginnings = map[string]string{
	"daemon/deliveries.go: NewDelivery":                 "Delivery",
	"daemon/usage.go: Agent.UsageIn":                    "UsageRead",
	"daemon/engine/agents.go: Daemon.CreateAgent":       "Agent",
	"daemon/engine/agents.go: Daemon.newAgent":          "Agent",
	"daemon/engine/agents.go: Daemon.chooseLaunch":      "Agent",
	"daemon/engine/worktrees.go: Daemon.planForAgent":   "Agent",
	"daemon/engine/hook_register.go: hookStep.register": "Agent",
	"daemon/engine/heir.go: successorOf":                "Agent",
	"daemon/engine/heir.go: becomeHeir":                 "Agent",
	"daemon/engine/resume.go: opensAgain":               "Agent",
	"daemon/engine/env_work.go: Work.NewResumed":        "Agent",
	"daemon/resume.go: Agent.GoesOnFrom":                "Agent",
	"daemon/pipelines/step.go: pipelineRun.agentFor":    "Agent",
	"daemon/pipelines/step.go: pipelineRun.startAgent":  "Agent",
}

// neverStored are functions that fill rows which nobody stores, with what these are for.
var neverStored = map[string]string{
	"daemon/hold_old.go: Agent.ReadOld":                   "Agent", // reads what a daemon of the last release has stored
	"daemon/hold_old.go: Handoff.ReadOld":                 "Handoff HandoffHeir",
	"daemon/engine/account.go: accounts.handoffWarnings":  "Agent",               // asks what differs between runtimes
	"daemon/engine/preflight_launch.go: takesCommandLine": "Agent",               // tries a command line
	"daemon/engine/assemble_step.go: newStepAssembly":     "Handoff HandoffHeir", // assembles a step's output as a handoff's
	"daemon/limits/run.go: Room.handOverLimited":          "HandoffHeir",         // asks for a handoff
	"daemon/tell/notification.go: the variables":          "Preferences",         // of a host that has stored none
}

// sharedColumns are the columns with several writers. The list may only become shorter.
var sharedColumns = []struct{ row, columns, writers, why string }{
	{"Agent", "Limit", "agents, handoffs, hooks, limits, permissions, sight",
		"hooks and a new state note by the rules in `daemon/limit.go` that it begins and ends, and a handoff notes itself; what is done about it, the room limits decides"},
	{"Delivery", "DecidedAt Verdict", "deliveries, handoffs, hooks, pipelines, sight",
		"whoever learns what became of a text decides it by `Decide`; the store itself decides those that are queued when it drops them, in one statement"},
	{"Delivery", "Evidence State", "agents, deliveries, handoffs, hooks, pipelines, sight",
		"the same, and deliveries moves a text on its way without a rule of the rows"},
}
