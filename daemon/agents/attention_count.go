package agents

import (
	"context"

	"github.com/understudyd/understudy/daemon/views"
)

// AttentionCount counts what needs a person, on all hosts.
func (d *Supervisor) AttentionCount(ctx context.Context) (views.AttentionCount, error) {
	o, err := d.Overview(ctx)
	if err != nil {
		return views.AttentionCount{}, err
	}
	return o.Count(), nil
}
