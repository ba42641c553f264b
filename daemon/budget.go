package daemon

import "time"

// BudgetStage is what was told or decided about a budget.
type BudgetStage string

// The stages.
const (
	BudgetWarned  BudgetStage = "warned"  // 80 % of it are used
	BudgetReached BudgetStage = "reached" // it is used up, and the persona's agents are held
	BudgetWaived  BudgetStage = "waived"  // somebody let the agents go on for the rest of the day
	BudgetReset   BudgetStage = "reset"   // the day after it was used up has begun
)

// BudgetMark says once that a stage was reached on a day.
type BudgetMark struct {
	Host    string
	Persona string
	Day     string // YYYY-MM-DD on the host's clock
	Mark    BudgetStage
	Budget  string // the budget in words, so that another one is told anew; "": any
	At      time.Time
}
