package daemon

import (
	"context"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
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

// UsageIn says that what the agent has used is read from a file, from its beginning.
func (a *Agent) UsageIn(path string) UsageRead {
	return UsageRead{Host: a.Host, Path: path, AgentID: a.ID}
}
