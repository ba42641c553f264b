package agents

import (
	"context"

	"github.com/understudyd/understudy/daemon"
)

// AttentionCount counts what needs a person, on all hosts.
func (d *Supervisor) AttentionCount(ctx context.Context) (daemon.AttentionCount, error) {
	o, err := d.Overview(ctx)
	if err != nil {
		return daemon.AttentionCount{}, err
	}
	return o.Count(), nil
}
