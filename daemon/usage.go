package daemon

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
)

// UsageStore keeps what agents have used, and what was told about budgets. An answer of a model is counted for the agent
// that it was counted for first.
type UsageStore interface {
	// AddUsage counts answers and notes how far their source was read, in one transaction. An answer that was counted before
	// keeps the greater of both numbers of each kind. ErrMoved: the source was read from in.From on before, and nothing was
	// written. The keys of in.Answers must be different.
	AddUsage(ctx context.Context, in UsageAdded) error
	// UsageReads returns how far the sources of an agent were read, and those of the host with one of the paths.
	UsageReads(ctx context.Context, host string, agentID int64, paths []string) ([]UsageRead, error)
	// UsageSums returns sums, in the order of their agents, personas, runtimes, pipelines and days.
	UsageSums(ctx context.Context, q UsageQuery) ([]UsageSum, error)
	// BudgetMarks returns what was told and decided about a host's budgets since a day (YYYY-MM-DD), in the order of their keys.
	BudgetMarks(ctx context.Context, host, since string) ([]BudgetMark, error)
}

// UsageAdded is what a source of usage says that is new.
type UsageAdded struct {
	Agent   *Agent
	Read    UsageRead // after it
	From    int64     // ReadTo before it; 0 for a source that was not read yet
	Answers []runtimes.Usage
}

// UsageRead is how far a source was read.
type UsageRead struct {
	Host    string
	Path    string // of a transcript; or costOf a session
	AgentID int64
	ReadTo  int64  // bytes of the transcript; or the cost in millionths of a US dollar
	Model   string // that the transcript has named last; "": none
}

// UsageQuery selects answers. Fields with zero values do not narrow it.
type UsageQuery struct {
	AgentIDs   []int64
	Persona    string
	PipelineID int64
	Host       string
	Since      time.Time
	Days       []time.Time // the beginnings of days, ascending: answers of different days are summed apart
}

// UsageSum is a sum of answers.
type UsageSum struct {
	AgentID    int64
	Persona    string
	Runtime    string
	PipelineID *int64
	Day        int // the day of UsageQuery.Days, counted from 1; 0: before the first one
	runtimes.Tokens
	Micros *int64 // nil: no cost was reported
}

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

// UsageIn says that what the agent has used is read from a file, from its beginning.
func (a *Agent) UsageIn(path string) UsageRead {
	return UsageRead{Host: a.Host, Path: path, AgentID: a.ID}
}
