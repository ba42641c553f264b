package usage

import (
	"sync"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/intake"
	"github.com/understudyd/understudy/personas"
)

// Room counts what agents use. Its methods are safe for concurrent use.
type Room struct {
	*handoffs.Flow
	memories engine.Memory[memory]

	mu         sync.Mutex
	budgetTold map[[2]string]bool // by persona, and day, stage and budget: the operator was told, as the rows say
	budgetDay  string             // the day on which resetBudgets has looked at the rows
}

// memory is what the room remembers about one agent: see [engine.Memory].
type memory struct {
	// measured says whether the transcript was read after the last turn. After a restart the daemon reads it once more.
	measured measurement
	// unknownTold says that the operator was told that the context use is unknown. After a restart the daemon tells it once more.
	unknownTold bool
	// heldBy is the budget by which the agent is held. After a restart the lane looks at the budget again.
	heldBy personas.Budget
	// usage is how far the transcripts were counted. After a restart the daemon reads that from the rows.
	usage *usageMemory
}

// Join makes the room of a daemon. Call it before the daemon runs, and after the rooms that may hand an agent over for another reason.
func Join(d *intake.Daemon) *Room {
	r := &Room{Flow: d.Flow, budgetTold: map[[2]string]bool{}}
	engine.Remember(d.Engine, &r.memories)
	d.CountNow, d.HoldsText = r.countUsageNow, r.heldByBudget
	engine.Join(d.Engine, engine.Part{
		Due:   func(a *daemon.Agent) bool { return r.usageGrew(a) || r.budgetMoved(a) },
		Swept: r.resetBudgets,
		Duties: []engine.Duty{
			{Name: "measure", Why: "The use of the context decides whether a handoff is requested.", Place: engine.AtRest, When: (*daemon.Agent).NotStopping, Do: r.measure},
			{Name: "countUsage", Why: "What was used decides whether a budget holds texts and automatic handoffs.", Place: engine.AtRest, When: (*daemon.Agent).Started, Do: r.countUsage},
			{Name: "handOverFull", Why: "A context that is nearly full is handed over before more texts fill it.", Place: engine.AtLimit, When: hasWork, Do: r.handOverFull},
		},
	})
	return r
}

// hasWork reports whether an agent can be handed over. The agent of a step that is over has nothing to hand over.
func hasWork(a *daemon.Agent) bool { return a.Active() && !(a.StepID != nil && a.TurnOver()) }
