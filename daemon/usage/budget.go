package usage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/calendar"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/personas"
)

// ErrNoBudget says that a persona has no budget.
var ErrNoBudget = daemon.Errorf(daemon.KindConflict, daemon.CodeNoBudget, "Persona has no budget: its skill.md sets none, such as `budget: {daily_usd: 5}`")

// budgetWarnAt is from which part of a budget on the operator is warned.
const budgetWarnAt = 0.8

// BudgetState is how much of a persona's budget its agents on this host have used today.
type BudgetState struct {
	Persona     string    `json:"persona"`
	DailyUSD    *float64  `json:"daily_usd"`    // nil: no limit
	DailyTokens *int64    `json:"daily_tokens"` // nil: no limit
	UsedUSD     *float64  `json:"used_usd"`     // nil: no cost was reported
	UsedTokens  int64     `json:"used_tokens"`
	Percent     float64   `json:"percent"` // of the limit that is nearer
	Held        bool      `json:"held"`    // no prompts are delivered to the persona's agents
	Waived      bool      `json:"waived"`  // the budget does not count for the rest of the day
	ResetsAt    time.Time `json:"resets_at"`
	// NotReported is how many tokens of today have no cost. They do not count for daily_usd.
	NotReported int64 `json:"tokens_without_cost"`
}

// budgetWords says what a budget is.
func budgetWords(b personas.Budget) string {
	switch usd, tokens := fmt.Sprintf("$%.2f a day", float64(b.DailyMicros)/1e6), words.Tokens(b.DailyTokens)+" tokens a day"; {
	case b.DailyMicros > 0 && b.DailyTokens > 0:
		return usd + " and " + tokens
	case b.DailyTokens > 0:
		return tokens
	default:
		return usd
	}
}

// UsedWords says how much of the budget is used.
func (s *BudgetState) UsedWords() string {
	used := words.Tokens(s.UsedTokens) + " tokens"
	if s.UsedUSD != nil {
		used = fmt.Sprintf("$%.2f and ", *s.UsedUSD) + used
	}
	return used
}

// Words says how much of the budget is used, and whether its agents are held.
func (s *BudgetState) Words() string {
	line := fmt.Sprintf("%.0f %% used today (%s)", s.Percent, s.UsedWords())
	switch {
	case s.Waived:
		line += "; it does not count until midnight"
	case s.Held:
		line += "; its agents are held until midnight"
	}
	if s.DailyUSD != nil && s.NotReported > 0 {
		line += fmt.Sprintf("; the cost of %s tokens is not reported", words.Tokens(s.NotReported))
	}
	return line
}

// Budget returns how much of a persona's budget is used today; nil: it has none.
func (d *Room) Budget(ctx context.Context, slug string) (*BudgetState, error) {
	p, err := d.Personas.Get(slug)
	if err != nil || p.Budget == (personas.Budget{}) {
		return nil, nil // a persona that cannot be read has no budget that is known
	}
	now := d.Now()
	today := calendar.DayBegins(now, 0)
	report, err := d.Of(ctx, views.UsageByPersona, daemon.UsageQuery{Persona: slug, Host: d.Host, Since: today})
	if err != nil {
		return nil, err
	}
	used := report.Total
	s := &BudgetState{Persona: slug, UsedUSD: used.CostUSD, UsedTokens: used.Total, NotReported: used.Unreported, ResetsAt: calendar.DayBegins(today, 1).UTC()}
	if b := p.Budget.DailyMicros; b > 0 {
		usd := float64(b) / 1e6
		s.DailyUSD = &usd
		if used.CostUSD != nil {
			s.Percent = max(s.Percent, 100**used.CostUSD/usd)
		}
	}
	if b := p.Budget.DailyTokens; b > 0 {
		s.DailyTokens = &b
		s.Percent = max(s.Percent, 100*float64(used.Total)/float64(b))
	}
	marks, err := d.Store.BudgetMarks(ctx, d.Host, today.Format(time.DateOnly))
	if err != nil {
		return nil, err
	}
	for i := range marks {
		s.Waived = s.Waived || marks[i].Persona == slug && marks[i].Mark == daemon.BudgetWaived
	}
	s.Held = s.Percent >= 100 && !s.Waived
	return s, nil
}

// budgetOf returns the budget of an agent's persona; the zero value: it has none. known is false if the persona cannot be read now,
// as while somebody writes its skill.md.
func (d *Room) budgetOf(a *daemon.Agent) (b personas.Budget, known bool) {
	if a.Persona == nil {
		return b, true
	}
	p, err := d.Personas.Latest(*a.Persona)
	if errors.Is(err, personas.ErrNotFound) {
		return b, true
	}
	return p.Budget, err == nil && p.Problem == ""
}

// budgetMoved reports whether an agent is held by another budget than its persona has now.
func (d *Room) budgetMoved(a *daemon.Agent) bool {
	if !a.Hold.Is(daemon.HoldBudget) {
		return false
	}
	b, known := d.budgetOf(a)
	return known && b != d.memories.Of(a.ID).heldBy
}

// seeToBudget keeps an agent's hold in step with its persona's budget, and tells the operator once that 80 % of the budget are
// used, and once that it is used up. A turn that runs goes on to its end.
func (d *Room) seeToBudget(ctx context.Context, a *daemon.Agent) (moved bool, again time.Duration, err error) {
	budget, known := d.budgetOf(a)
	if !known && a.Hold.Is(daemon.HoldBudget) {
		return false, time.Minute, nil
	}
	d.memories.Change(a.ID, func(m *memory) { m.heldBy = budget })
	if budget == (personas.Budget{}) {
		return d.holdByBudget(ctx, a, false)
	}
	s, err := d.Budget(ctx, *a.Persona)
	if err != nil || s == nil {
		return false, 0, err
	}
	if s.Percent >= 100*budgetWarnAt && !s.Waived {
		if err := d.tellBudget(ctx, a, s); err != nil {
			return false, 0, err
		}
	}
	return d.holdByBudget(ctx, a, s.Held)
}

// holdByBudget holds an agent up, or lets it go on. Another day ends the hold, or a person on another host; nothing wakes the
// lane then.
func (d *Room) holdByBudget(ctx context.Context, a *daemon.Agent, held bool) (bool, time.Duration, error) {
	const again = time.Minute
	switch {
	case held && a.AtRest() && (a.Hold == nil || a.Hold.Is(daemon.HoldBudget)):
		midnight := calendar.DayBegins(d.Now(), 1).UTC()
		return d.SetHold(ctx, a, daemon.Hold{Kind: daemon.HoldBudget, Until: &midnight}, again)
	case !held && a.Hold.Is(daemon.HoldBudget):
		a.BeginTimeAnew(d.Now())
		return d.SetHold(ctx, a, daemon.Hold{}, 0)
	}
	return false, 0, nil
}

// tellBudget commits once a day and budget that it is nearly used up, and once that it is used up, each with its alert.
func (d *Room) tellBudget(ctx context.Context, a *daemon.Agent, s *BudgetState) error {
	p, err := d.Personas.Get(s.Persona)
	if err != nil {
		return nil
	}
	mark, typ := daemon.BudgetWarned, event.BudgetWarned
	what := fmt.Sprintf("Persona %s has used %.0f %% of its budget of %s (%s): raise the budget in its skill.md if its agents shall not be held at 100 %%.",
		s.Persona, s.Percent, budgetWords(p.Budget), s.UsedWords())
	if s.Percent >= 100 {
		mark, typ = daemon.BudgetReached, event.BudgetReached
		what = fmt.Sprintf("The budget of persona %[1]s is used up (%[2]s of %[3]s): its agents get no prompts until midnight, and what is sent to them stays queued; "+
			"raise the budget in its skill.md, or let them go on for today with `understudy persona go-on %[1]s`.", s.Persona, s.UsedWords(), budgetWords(p.Budget))
	}
	day := calendar.DayBegins(d.Now(), 0).Format(time.DateOnly)
	key := [2]string{s.Persona, day + string(mark) + budgetWords(p.Budget)}
	d.mu.Lock()
	told := d.budgetTold[key]
	d.mu.Unlock()
	if told {
		return nil
	}
	e := d.Event(typ, &a.ID, nil, map[string]any{"persona": s.Persona, "percent": s.Percent, "budget": budgetWords(p.Budget), "message": what})
	e.Alert = true
	err = d.Commit(ctx, &daemon.Change{BudgetMarks: []*daemon.BudgetMark{{Host: d.Host, Persona: s.Persona, Day: day, Mark: mark, Budget: budgetWords(p.Budget)}}, Events: []*event.Event{e}})
	if err != nil && !errors.Is(err, daemon.ErrMoved) { // ErrMoved: it was told before
		return fmt.Errorf("budget of %s: %w", s.Persona, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.budgetTold) > 1000 {
		clear(d.budgetTold) // of the days before; what was told is in the rows
	}
	d.budgetTold[key] = true
	return nil
}

// heldByBudget reports whether a text must wait because the budget of its agent's persona is used up. A handoff that has begun
// goes on, so that its work is not lost.
func (d *Room) heldByBudget(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery) (bool, error) {
	switch dl.Kind {
	case daemon.KindMessage, daemon.KindGoOn:
	default:
		return false, nil
	}
	if dl.State != daemon.DeliveryQueued || dl.HandoffID != nil || !a.Active() {
		return false, nil
	}
	return d.overBudget(ctx, a)
}

// overBudget reports whether the budget of an agent's persona is used up. While the persona cannot be read, an agent that is held
// stays held.
func (d *Room) overBudget(ctx context.Context, a *daemon.Agent) (bool, error) {
	switch b, known := d.budgetOf(a); {
	case !known && a.Hold.Is(daemon.HoldBudget):
		return true, nil
	case b == personas.Budget{}:
		return false, nil
	}
	s, err := d.Budget(ctx, *a.Persona)
	return s != nil && s.Held, err
}

// GoOn lets the agents of a persona go on for the rest of the day although its budget is used up. The second call changes nothing.
func (d *Room) GoOn(ctx context.Context, slug string) (BudgetState, error) {
	s, err := d.Budget(ctx, slug)
	switch {
	case err != nil:
		return BudgetState{}, err
	case s == nil:
		return BudgetState{}, ErrNoBudget
	case s.Waived:
		return *s, nil
	case !s.Held:
		return BudgetState{}, daemon.Errorf(daemon.KindConflict, daemon.CodeBudgetNotReached, "The budget is not used up: %.0f %% of it are used", s.Percent)
	}
	day := calendar.DayBegins(d.Now(), 0).Format(time.DateOnly)
	e := d.Event(event.BudgetWaived, nil, nil, map[string]any{"persona": slug, "message": fmt.Sprintf(
		"The agents of persona %s go on until midnight although its budget is used up (%s).", slug, s.UsedWords())})
	err = d.Commit(ctx, &daemon.Change{BudgetMarks: []*daemon.BudgetMark{{Host: d.Host, Persona: slug, Day: day, Mark: daemon.BudgetWaived}}, Events: []*event.Event{e}})
	if err != nil && !errors.Is(err, daemon.ErrMoved) {
		return BudgetState{}, err
	}
	s.Held, s.Waived = false, true
	return *s, d.wakePersona(ctx, slug)
}

// wakePersona wakes the lanes of a persona's agents on this host.
func (d *Room) wakePersona(ctx context.Context, slug string) error {
	agents, err := d.Store.Agents(ctx, daemon.AgentFilter{Persona: slug, Host: d.Host, Active: true, Limit: 1000})
	if err != nil {
		return err
	}
	for i := range agents {
		d.Wake(agents[i].ID)
	}
	return nil
}

// resetBudgets says once, on the day after a budget was used up, that its agents go on. The sweep calls it; it looks at the rows
// once a day and after a start.
func (d *Room) resetBudgets(ctx context.Context) error {
	today := calendar.DayBegins(d.Now(), 0)
	day := today.Format(time.DateOnly)
	d.mu.Lock()
	done := d.budgetDay == day
	d.mu.Unlock()
	if done {
		return nil
	}
	marks, err := d.Store.BudgetMarks(ctx, d.Host, calendar.DayBegins(today, -7).Format(time.DateOnly))
	if err != nil {
		return fmt.Errorf("budgets: %w", err)
	}
	reset := map[[2]string]bool{}
	for i := range marks {
		if marks[i].Mark == daemon.BudgetReset {
			reset[[2]string{marks[i].Persona, marks[i].Day}] = true
		}
	}
	for i := range marks {
		m := &marks[i]
		key := [2]string{m.Persona, m.Day}
		if m.Mark != daemon.BudgetReached || m.Day >= day || reset[key] {
			continue
		}
		reset[key] = true
		e := d.Event(event.BudgetReset, nil, nil, map[string]any{"persona": m.Persona, "day": m.Day, "message": fmt.Sprintf(
			"A new day has begun: the budget of persona %s, which was used up on %s, counts anew.", m.Persona, m.Day)})
		next := &daemon.BudgetMark{Host: d.Host, Persona: m.Persona, Day: m.Day, Mark: daemon.BudgetReset}
		if err := d.Commit(ctx, &daemon.Change{BudgetMarks: []*daemon.BudgetMark{next}, Events: []*event.Event{e}}); err != nil && !errors.Is(err, daemon.ErrMoved) {
			return fmt.Errorf("budget of %s: %w", m.Persona, err)
		}
		if err := d.wakePersona(ctx, m.Persona); err != nil {
			return err
		}
	}
	d.mu.Lock()
	d.budgetDay = day
	d.mu.Unlock()
	return nil
}

// UsageToday returns what the personas of this host have used since midnight, and the budgets of all personas that have one.
func (d *Room) UsageToday(ctx context.Context) ([]views.UsageRow, []BudgetState, error) {
	today, err := d.Of(ctx, views.UsageByPersona, daemon.UsageQuery{Host: d.Host, Since: calendar.DayBegins(d.Now(), 0)})
	if err != nil {
		return nil, nil, err
	}
	budgets := []BudgetState{}
	for _, p := range d.Personas.List() {
		if p.Archived || p.Budget == (personas.Budget{}) {
			continue
		}
		s, err := d.Budget(ctx, p.Slug)
		if err != nil {
			return nil, nil, err
		}
		if s != nil {
			budgets = append(budgets, *s)
		}
	}
	return today.Rows, budgets, nil
}
