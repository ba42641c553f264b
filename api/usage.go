package api

import (
	"cmp"
	"context"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/usage"
	"github.com/understudyd/understudy/daemon/views"
)

// usageQuery is what the parameters ask about usage.
type usageQuery struct {
	by views.UsageBy
	of daemon.UsageQuery
}

func usageQueryOf(p *params) usageQuery {
	q := usageQuery{
		by: cmp.Or(views.UsageBy(p.oneOf("by", "persona", "agent", "line", "run", "day")), views.UsageByPersona),
		of: daemon.UsageQuery{Persona: p.text("persona"), PipelineID: p.id("pipeline_id"), Host: p.text("host"), Since: p.time("since")},
	}
	if id := p.id("agent_id"); id != 0 {
		q.of.AgentIDs = []int64{id}
	}
	return q
}

func (h operatorHandlers) usage(ctx context.Context, q usageQuery) (views.UsageReport, error) {
	return h.Usage.Of(ctx, q.by, q.of)
}

// budget returns a persona's budget; its error says that the persona has none.
func (h personaHandlers) budget(ctx context.Context, slug string) (*usage.BudgetState, error) {
	if _, err := h.people.Get(slug); err != nil {
		return nil, err
	}
	out, err := h.Usage.Budget(ctx, slug)
	if err == nil && out == nil {
		err = usage.ErrNoBudget
	}
	return out, err
}

func (h personaHandlers) goOn(ctx context.Context, slug string) (usage.BudgetState, error) {
	if _, err := h.people.Get(slug); err != nil {
		return usage.BudgetState{}, err
	}
	return h.Usage.GoOn(ctx, slug)
}
