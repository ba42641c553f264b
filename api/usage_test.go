package api

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/usage"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/personas"
)

// use counts an answer of a model for an agent.
func (h *fixture) use(a *daemon.Agent, key string, at time.Time, output int64, micros *int64) {
	h.t.Helper()
	must(h.t, h.store.AddUsage(h.t.Context(), daemon.UsageAdded{Agent: a, Read: daemon.UsageRead{Host: "here", Path: key, ReadTo: 1},
		Answers: []runtimes.Usage{{Key: key, At: at, Tokens: runtimes.Tokens{Output: output}, Micros: micros}}}))
}

// TestUsage: sums by each of the ways, with costs only where they were reported.
func TestUsage(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	slug, now, cost := "reviewer-ann-1", time.Now(), int64(1_250_000)
	first := h.agent(func(a *daemon.Agent) { a.Persona = &slug })
	second := h.agent(func(a *daemon.Agent) { a.Persona, a.PreviousAgentID, a.Generation = &slug, &first.ID, 2 })
	h.use(first, "a", now.AddDate(0, 0, -1), 100, &cost)
	h.use(second, "b", now, 10, nil)
	for by, want := range map[views.UsageBy]string{
		views.UsageByPersona: slug + " 110 10 $1.25, and some not reported",
		views.UsageByAgent:   fmt.Sprintf("%d 100 0 $1.25; %d 10 10 not reported", first.ID, second.ID),
		views.UsageByLine:    fmt.Sprintf("%d 110 10 $1.25, and some not reported", first.ID),
		views.UsageByRun:     " 110 10 $1.25, and some not reported",
		views.UsageByDay:     now.AddDate(0, 0, -1).Format(time.DateOnly) + " 100 0 $1.25; " + now.Format(time.DateOnly) + " 10 10 not reported",
	} {
		out := value(h.client.Usage(t.Context(), by, daemon.UsageQuery{}))(t)
		var got []string
		for i := range out.Rows {
			r := &out.Rows[i]
			got = append(got, fmt.Sprintf("%s %d %d %s", r.Of, r.Total, r.Unreported, r.CostWords()))
		}
		if text := strings.Join(got, "; "); text != want || out.Total.Total != 110 {
			t.Errorf("by %s: %q, total %d; want %q", by, text, out.Total.Total, want)
		}
	}
	if out := value(h.client.Usage(t.Context(), views.UsageByAgent, daemon.UsageQuery{AgentIDs: []int64{second.ID}}))(t); out.Total.Total != 10 || out.Total.CostUSD != nil {
		t.Errorf("of one agent: %+v", out.Total)
	}
	failed(h.client.Usage(t.Context(), views.UsageByDay, daemon.UsageQuery{Since: now.AddDate(-3, 0, 0)}))(t, "three years", "366 days")
}

// TestBudgetOverHTTP: how much is used, and that the agents may go on only when the budget is used up.
func TestBudgetOverHTTP(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	ctx := t.Context()
	p := value(h.client.CreatePersona(ctx, personas.New{Role: "reviewer", Name: "ann"}))(t)
	failed(h.client.Budget(ctx, p.Slug))(t, "no budget", "budget: {daily_usd: 5}")
	skill := "---\nname: " + p.Slug + "\ndescription: reviews\nbudget: {daily_usd: 5, daily_tokens: 1_000}\n---\nYou review.\n"
	must(t, os.WriteFile(filepath.Join(p.Dir, "skill.md"), []byte(skill), 0o600))
	a := h.agent(func(a *daemon.Agent) { a.Persona = &p.Slug })
	cost := int64(4_000_000)
	h.use(a, "a", time.Now(), 500, &cost)
	got := value(h.client.Budget(ctx, p.Slug))(t)
	if got.Percent != 80 || got.Held || got.UsedUSD == nil || *got.UsedUSD != 4 || got.UsedTokens != 500 || !got.ResetsAt.After(time.Now()) {
		t.Errorf("at 80 %%: %+v", got)
	}
	failed(h.client.GoOn(ctx, p.Slug))(t, "go on at 80 %", "not used up")
	h.use(a, "b", time.Now(), 600, nil)
	if got := value(h.client.Budget(ctx, p.Slug))(t); !got.Held || got.Percent < 109 || got.Percent > 111 {
		t.Errorf("used up: %+v", got)
	}
	if got := value(h.client.GoOn(ctx, p.Slug))(t); got.Held || !got.Waived {
		t.Errorf("go on: %+v", got)
	}
}

// TestCostOfTheStatusLine: what the cost of a session has grown by counts, also after a cost that began anew.
func TestCostOfTheStatusLine(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	session := "s-1"
	a := h.agent(func(a *daemon.Agent) { a.SessionID = &session })
	for _, usd := range []float64{0.5, 0.5, 0.75, 0.25, 0.25} {
		must(t, h.house.Usage.ReportContext(t.Context(), a.ID, usage.ContextReport{SessionID: session, Tokens: 1, Limit: 10, CostUSD: &usd}))
	}
	if got := value(h.client.Usage(t.Context(), views.UsageByAgent, daemon.UsageQuery{}))(t).Total; got.CostUSD == nil || *got.CostUSD != 1 {
		t.Errorf("%+v", got)
	}
	wrong := -1.0
	wantErr(t, "a negative cost was taken", h.house.Usage.ReportContext(t.Context(), a.ID, usage.ContextReport{SessionID: session, Tokens: 1, Limit: 10, CostUSD: &wrong}))
}
