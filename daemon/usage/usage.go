package usage

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/calendar"
	"github.com/understudyd/understudy/daemon/views"
)

// maxUsageDays is how many days a report by day has at most.
const maxUsageDays = 366

// Of sums up what agents have used, the greatest sums first, days in their order. by day, a zero since means the last 30 days.
func (d *Room) Of(ctx context.Context, by views.UsageBy, q daemon.UsageQuery) (views.UsageReport, error) {
	if !slices.Contains(views.UsageBys(), by) {
		return views.UsageReport{}, daemon.Errorf(daemon.KindInvalid, daemon.CodeInvalidParameter, "by must be one of persona, agent, line, run, day")
	}
	if by == views.UsageByDay {
		now := d.Now().In(time.Local)
		if q.Since.IsZero() {
			q.Since = calendar.DayBeginsIn(now, -29)
		}
		q.Days = calendar.DaysUntil(q.Since.In(time.Local), now, maxUsageDays+1)
		if len(q.Days) > maxUsageDays {
			return views.UsageReport{}, daemon.Errorf(daemon.KindInvalid, daemon.CodeInvalidParameter, "since must be within the last %d days", maxUsageDays)
		}
	}
	sums, err := d.Store.UsageSums(ctx, q)
	if err != nil {
		return views.UsageReport{}, err
	}
	of, err := d.usageKeys(ctx, by, q, sums)
	if err != nil {
		return views.UsageReport{}, err
	}
	out := views.UsageReport{By: by, Rows: sumUp(sums, of), Total: views.UsageRow{}}
	if all := sumUp(sums, func(*daemon.UsageSum) string { return "" }); len(all) > 0 {
		out.Total = all[0]
	}
	if !q.Since.IsZero() {
		since := q.Since.UTC()
		out.Since = &since
	}
	if by != views.UsageByDay {
		slices.SortStableFunc(out.Rows, func(a, b views.UsageRow) int { return cmp.Compare(b.Total, a.Total) })
	}
	return out, nil
}

// Today returns the beginning of today on this machine's clock.
func (d *Room) Today() time.Time { return calendar.DayBegins(d.Now(), 0) }

// usageKeys returns what says to which row a sum belongs.
func (d *Room) usageKeys(ctx context.Context, by views.UsageBy, q daemon.UsageQuery, sums []daemon.UsageSum) (func(*daemon.UsageSum) string, error) {
	switch by {
	case views.UsageByPersona:
		return func(s *daemon.UsageSum) string { return s.Persona }, nil
	case views.UsageByRun:
		return func(s *daemon.UsageSum) string { return agents.OptionalID(s.PipelineID) }, nil
	case views.UsageByDay:
		return func(s *daemon.UsageSum) string { return q.Days[max(0, s.Day-1)].Format(time.DateOnly) }, nil
	case views.UsageByLine:
		first, err := d.firstOfLines(ctx, sums)
		return func(s *daemon.UsageSum) string { return strconv.FormatInt(first[s.AgentID], 10) }, err
	}
	return func(s *daemon.UsageSum) string { return strconv.FormatInt(s.AgentID, 10) }, nil
}

// firstOfLines returns the id of the first agent of each agent's line, as far as it is kept.
func (d *Room) firstOfLines(ctx context.Context, sums []daemon.UsageSum) (map[int64]int64, error) {
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
func sumUp(sums []daemon.UsageSum, of func(*daemon.UsageSum) string) []views.UsageRow {
	costs := map[int64]bool{} // by agent: its runtime reports a cost
	for i := range sums {
		costs[sums[i].AgentID] = costs[sums[i].AgentID] || sums[i].Micros != nil
	}
	type row struct {
		views.UsageRow
		micros int64
		cost   bool
	}
	rows := map[string]*row{}
	for i := range sums {
		s := &sums[i]
		key := of(s)
		if rows[key] == nil {
			rows[key] = &row{UsageRow: views.UsageRow{Of: key}}
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
	out := []views.UsageRow{}
	for _, r := range rows {
		r.Total = r.Tokens.Total()
		if r.cost {
			usd := float64(r.micros) / 1e6
			r.CostUSD = &usd
		}
		out = append(out, r.UsageRow)
	}
	slices.SortFunc(out, func(a, b views.UsageRow) int { return cmp.Compare(a.Of, b.Of) })
	return out
}
