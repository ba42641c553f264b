package sim

import (
	"context"
	"fmt"

	"github.com/understudyd/understudy/daemon"
)

func (s *gated) AddUsage(ctx context.Context, in daemon.UsageAdded) error {
	_, err := write(s, ctx, fmt.Sprintf("AddUsage of agent %d", in.Agent.ID), func() (struct{}, error) {
		return struct{}{}, s.inner.AddUsage(context.WithoutCancel(ctx), in)
	})
	return err
}

func (s *gated) UsageReads(ctx context.Context, host string, agentID int64, paths []string) ([]daemon.UsageRead, error) {
	return query(s, ctx, "UsageReads", func() ([]daemon.UsageRead, error) { return s.inner.UsageReads(ctx, host, agentID, paths) })
}

func (s *gated) UsageSums(ctx context.Context, q daemon.UsageQuery) ([]daemon.UsageSum, error) {
	return query(s, ctx, "UsageSums", func() ([]daemon.UsageSum, error) { return s.inner.UsageSums(ctx, q) })
}

func (s *gated) BudgetMarks(ctx context.Context, host, since string) ([]daemon.BudgetMark, error) {
	return query(s, ctx, "BudgetMarks", func() ([]daemon.BudgetMark, error) { return s.inner.BudgetMarks(ctx, host, since) })
}
