package sim

import (
	"context"

	"github.com/understudyd/understudy/daemon"
)

func (s *gated) AgentLives(ctx context.Context, q daemon.LifeQuery) ([]daemon.AgentLife, error) {
	return query(s, ctx, "AgentLives", func() ([]daemon.AgentLife, error) { return s.inner.AgentLives(ctx, q) })
}

func (s *gated) StateChanges(ctx context.Context, q daemon.SpanQuery) ([]daemon.StateChange, error) {
	return query(s, ctx, "StateChanges", func() ([]daemon.StateChange, error) { return s.inner.StateChanges(ctx, q) })
}

func (s *gated) ContextSamples(ctx context.Context, q daemon.SpanQuery) ([]daemon.ContextSample, error) {
	return query(s, ctx, "ContextSamples", func() ([]daemon.ContextSample, error) { return s.inner.ContextSamples(ctx, q) })
}

func (s *gated) CompletedMetrics(ctx context.Context, except int64, limit int) ([]daemon.Metrics, error) {
	return query(s, ctx, "CompletedMetrics", func() ([]daemon.Metrics, error) { return s.inner.CompletedMetrics(ctx, except, limit) })
}

func (s *gated) PruneSamples(ctx context.Context, l daemon.PruneLimits) (daemon.Pruned, error) {
	return write(s, ctx, "PruneSamples", func() (daemon.Pruned, error) { return s.inner.PruneSamples(ctx, l) })
}
