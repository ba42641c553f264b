package views

import (
	"fmt"
	"strconv"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
)

// UsageBy is what usage is summed by.
type UsageBy string

// The ways to sum usage up.
const (
	UsageByAgent   UsageBy = "agent"
	UsageByPersona UsageBy = "persona"
	UsageByLine    UsageBy = "line"
	UsageByRun     UsageBy = "run"
	UsageByDay     UsageBy = "day"
)

// UsageBys returns the ways to sum usage up.
func UsageBys() []UsageBy {
	return []UsageBy{UsageByPersona, UsageByAgent, UsageByLine, UsageByRun, UsageByDay}
}

// UsageRow is one sum for people.
type UsageRow struct {
	// Of is the agent's or the run's id, the persona's slug, the id of the line's first agent, or the day as YYYY-MM-DD; "": what
	// has none.
	Of     string          `json:"of"`
	Tokens runtimes.Tokens `json:"tokens"`
	Total  int64           `json:"total_tokens"`
	// CostUSD is what the runtimes have reported; nil: they report none.
	CostUSD *float64 `json:"cost_usd"`
	// Unreported is how many of the tokens were used by agents whose runtime reports no cost.
	Unreported int64 `json:"tokens_without_cost"`
}

// UsageReport is the answer to a question about usage.
type UsageReport struct {
	By    UsageBy    `json:"by"`
	Since *time.Time `json:"since"` // nil: all that is kept
	Rows  []UsageRow `json:"rows"`
	Total UsageRow   `json:"total"`
}

// ByAgent returns the rows of a report by agent, by the agents' ids.
func (r *UsageReport) ByAgent() map[int64]UsageRow {
	of := map[int64]UsageRow{}
	for _, row := range r.Rows {
		if id, err := strconv.ParseInt(row.Of, 10, 64); err == nil {
			of[id] = row
		}
	}
	return of
}

// Words says how many tokens were used and what they cost; "": none.
func (r *UsageRow) Words() string {
	if r.Total == 0 && r.CostUSD == nil {
		return ""
	}
	t := r.Tokens
	return fmt.Sprintf("%s tokens (input %s, output %s, cache read %s, cache write %s), cost %s", words.Tokens(r.Total), words.Tokens(t.Input),
		words.Tokens(t.Output), words.Tokens(t.CacheRead), words.Tokens(t.CacheWrite), r.CostWords())
}

// CostWords says what was spent, and for how many tokens no cost was reported.
func (r *UsageRow) CostWords() string {
	switch {
	case r.CostUSD == nil:
		return "not reported"
	case r.Unreported > 0:
		return fmt.Sprintf("$%.2f, and some not reported", *r.CostUSD)
	}
	return fmt.Sprintf("$%.2f", *r.CostUSD)
}
