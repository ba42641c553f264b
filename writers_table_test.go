package understudy_test

// rows are the types of the rows that the domain writes, with the names that the table gives them. Rows that are only appended, by whoever
// commits, are not among them: events, and transitions, which the store makes of moves. A Change is no row, but has the store write some.
var rows = map[string]string{
	"daemon.Agent": "Agent", "daemon.AgentTurn": "Agent", "daemon.AgentLimit": "Agent", "daemon.AgentPane": "Agent", "daemon.AgentSession": "Agent",
	"daemon.AgentContext": "Agent", "daemon.AgentEnd": "Agent", "daemon.AgentStop": "Agent", "daemon.Handoff": "Handoff", "daemon.HandoffHeir": "HandoffHeir", "daemon.Heir": "HandoffHeir",
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
	"Change.DropQueued": {"Delivery.State", "Delivery.Verdict", "Delivery.Evidence", "Delivery.EvidenceCode", "Delivery.DecidedAt"},
}

// beginnings are the functions that make a row, and give its columns their first values before it is stored. They do not count as writers: a
// column's writer is who changes it from then on. The list may only become shorter.
var beginnings = map[string]string{
	"daemon/deliveries.go: NewDelivery":                 "Delivery",
	"daemon/usage.go: Agent.UsageIn":                    "UsageRead",
	"daemon/agents/agents.go: Launcher.CreateAgent":     "Agent",
	"daemon/agents/agents.go: Launcher.newAgent":        "Agent",
	"daemon/agents/agents.go: Launcher.chooseLaunch":    "Agent",
	"daemon/agents/worktrees.go: Launcher.PlanTree":     "Worktree",
	"daemon/agents/worktrees.go: Launcher.planForAgent": "Agent",
	"daemon/intake/hook_register.go: hookStep.register": "Agent",
	"daemon/agents/successor.go: SuccessorOf":           "Agent",
	"daemon/handoffs/heir.go: becomeHeir":               "Agent",
	"daemon/agents/resume.go: opensAgain":               "Agent",
	"daemon/agents/rooms.go: NewResumed":                "Agent",
	"daemon/session.go: Agent.GoesOnFrom":               "Agent",
	"daemon/pipelines/step.go: pipelineRun.agentFor":    "Agent",
	"daemon/pipelines/step.go: pipelineRun.startAgent":  "Agent",
}

// neverStored are functions that fill rows which nobody stores, with what these are for.
var neverStored = map[string]string{
	"daemon/hold_old.go: Agent.ReadOld":                   "Agent", // reads what a daemon of the last release has stored
	"daemon/hold_old.go: Handoff.ReadOld":                 "Handoff HandoffHeir",
	"daemon/sight/account.go: accounts.HandoffWarnings":   "Agent",               // asks what differs between runtimes
	"daemon/agents/preflight_launch.go: takesCommandLine": "Agent",               // tries a command line
	"daemon/handoffs/assemble_step.go: NewStepAssembly":   "Handoff HandoffHeir", // assembles a step's output as a handoff's
	"daemon/limits/run.go: Room.handOverLimited":          "HandoffHeir",         // asks for a handoff
	"daemon/tell/notification.go: the variables":          "Preferences",         // of a host that has stored none
}

// sharedColumns are the columns with several writers. The list may only become shorter.
var sharedColumns = []struct{ row, columns, writers, why string }{
	{"Agent", "Limit", "agents, handoffs, intake, limits, permissions, sight",
		"hooks and a new state note by the rules in `daemon/limit.go` that it begins and ends, and a handoff notes itself; what is done about it, the room limits decides"},
	{"Delivery", "Evidence EvidenceCode State", "agents, deliveries, engine, handoffs, intake, pipelines",
		"whoever learns what became of a text decides it by `Decide`; deliveries moves it on its way, and whoever passes it on says so"},
}
