package agents

import (
	"context"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
)

// Overview reads the rows of all hosts.
func (d *Supervisor) Overview(ctx context.Context) (views.Overview, error) {
	return ReadOverview(ctx, d, 100)
}

// ReadOverview is Overview with at most so many of the agents that ended last.
func ReadOverview(ctx context.Context, d *Supervisor, ended int) (o views.Overview, err error) {
	o.At, o.Auto = d.Now(), d.HandsOver()
	if o.Agents, err = d.Store.Agents(ctx, daemon.AgentFilter{Active: true, Limit: daemon.MostAgents}); err != nil {
		return o, err
	}
	if o.Ended, err = d.Store.Agents(ctx, daemon.AgentFilter{Lately: true, Limit: ended}); err != nil {
		return o, err
	}
	for _, f := range []daemon.HandoffFilter{{Open: true, Limit: daemon.MostAgents}, {Status: daemon.StatusFailed, Last: true, Limit: 50}} {
		list, err := d.Store.Handoffs(ctx, f)
		if err != nil {
			return o, err
		}
		o.Handoffs = append(o.Handoffs, list...)
	}
	for _, f := range []daemon.PipelineFilter{{Open: true}, {Status: daemon.PipelineFailed, Limit: 20}} {
		list, err := d.Store.Pipelines(ctx, f)
		if err != nil {
			return o, err
		}
		o.Pipelines = append(o.Pipelines, list...)
	}
	if o.Permissions, err = d.Store.Permissions(ctx, daemon.PermissionFilter{Open: true, Limit: daemon.MostAgents}); err != nil {
		return o, err
	}
	missing, err := d.Store.AgentsByID(ctx, o.Unread())
	o.Ended = append(o.Ended, missing...)
	return o, err
}
