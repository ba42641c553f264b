package dashboard

import (
	"context"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
)

// used returns what the agents of a query have used, in words; "": nothing was counted.
func (p *Pages) used(ctx context.Context, q daemon.UsageQuery) (string, error) {
	out, err := p.Usage.Of(ctx, views.UsageByPersona, q)
	return out.Total.Words(), err
}
