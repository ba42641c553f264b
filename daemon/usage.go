package daemon

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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

// maxUsageDays is how many days a report by day has at most.
const maxUsageDays = 366

// Usage sums up what agents have used, the greatest sums first, days in their order. by day, a zero since means the last 30 days.
func (d *Daemon) Usage(ctx context.Context, by UsageBy, q UsageQuery) (UsageReport, error) {
	if !slices.Contains(UsageBys(), by) {
		return UsageReport{}, Errorf(KindInvalid, CodeInvalidParameter, "by must be one of persona, agent, line, run, day")
	}
	if by == UsageByDay {
		now := d.now().In(time.Local)
		if q.Since.IsZero() {
			q.Since = dayBegins(now, -29)
		}
		q.Days = daysUntil(q.Since.In(time.Local), now, maxUsageDays+1)
		if len(q.Days) > maxUsageDays {
			return UsageReport{}, Errorf(KindInvalid, CodeInvalidParameter, "since must be within the last %d days", maxUsageDays)
		}
	}
	sums, err := d.Store.UsageSums(ctx, q)
	if err != nil {
		return UsageReport{}, err
	}
	of, err := d.usageKeys(ctx, by, q, sums)
	if err != nil {
		return UsageReport{}, err
	}
	out := UsageReport{By: by, Rows: sumUp(sums, of), Total: UsageRow{}}
	if all := sumUp(sums, func(*UsageSum) string { return "" }); len(all) > 0 {
		out.Total = all[0]
	}
	if !q.Since.IsZero() {
		since := q.Since.UTC()
		out.Since = &since
	}
	if by != UsageByDay {
		slices.SortStableFunc(out.Rows, func(a, b UsageRow) int { return cmp.Compare(b.Total, a.Total) })
	}
	return out, nil
}

// Today returns the beginning of today on this machine's clock.
func (d *Daemon) Today() time.Time { return DayBegins(d.now(), 0) }

// usageKeys returns what says to which row a sum belongs.
func (d *Daemon) usageKeys(ctx context.Context, by UsageBy, q UsageQuery, sums []UsageSum) (func(*UsageSum) string, error) {
	switch by {
	case UsageByPersona:
		return func(s *UsageSum) string { return s.Persona }, nil
	case UsageByRun:
		return func(s *UsageSum) string { return OptionalID(s.PipelineID) }, nil
	case UsageByDay:
		return func(s *UsageSum) string { return q.Days[max(0, s.Day-1)].Format(time.DateOnly) }, nil
	case UsageByLine:
		first, err := d.firstOfLines(ctx, sums)
		return func(s *UsageSum) string { return strconv.FormatInt(first[s.AgentID], 10) }, err
	}
	return func(s *UsageSum) string { return strconv.FormatInt(s.AgentID, 10) }, nil
}

// firstOfLines returns the id of the first agent of each agent's line, as far as it is kept.
func (d *Daemon) firstOfLines(ctx context.Context, sums []UsageSum) (map[int64]int64, error) {
	previous := map[int64]int64{} // 0: none
	next := []int64{}
	for i := range sums {
		next = append(next, sums[i].AgentID)
	}
	for len(next) > 0 {
		agents, err := d.Store.AgentsByID(ctx, next)
		if err != nil {
			return nil, err
		}
		next = nil
		for i := range agents {
			a := &agents[i]
			previous[a.ID] = 0
			if p := a.PreviousAgentID; p != nil {
				previous[a.ID] = *p
				if _, known := previous[*p]; !known {
					next = append(next, *p)
				}
			}
		}
	}
	first := map[int64]int64{}
	for id := range previous {
		root, seen := id, map[int64]bool{}
		for !seen[root] && previous[root] != 0 {
			seen[root] = true
			root = previous[root]
		}
		first[id] = root
	}
	return first, nil
}

// sumUp adds up the sums of each row. The rows come in the order of their first sums; of days, in the order of the days.
func sumUp(sums []UsageSum, of func(*UsageSum) string) []UsageRow {
	costs := map[int64]bool{} // by agent: its runtime reports a cost
	for i := range sums {
		costs[sums[i].AgentID] = costs[sums[i].AgentID] || sums[i].Micros != nil
	}
	type row struct {
		UsageRow
		micros int64
		cost   bool
	}
	rows := map[string]*row{}
	for i := range sums {
		s := &sums[i]
		key := of(s)
		if rows[key] == nil {
			rows[key] = &row{UsageRow: UsageRow{Of: key}}
		}
		r := rows[key]
		r.Tokens.Add(s.Tokens)
		if s.Micros != nil {
			r.micros, r.cost = r.micros+*s.Micros, true
		}
		if !costs[s.AgentID] {
			r.Unreported += s.Total()
		}
	}
	out := []UsageRow{}
	for _, r := range rows {
		r.Total = r.Tokens.Total()
		if r.cost {
			usd := float64(r.micros) / 1e6
			r.CostUSD = &usd
		}
		out = append(out, r.UsageRow)
	}
	slices.SortFunc(out, func(a, b UsageRow) int { return cmp.Compare(a.Of, b.Of) })
	return out
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
