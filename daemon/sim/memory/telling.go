package memory

import (
	"context"

	"github.com/understudyd/understudy/daemon"
)

// Telling is a store that tells of each change that is committed through it, as PostgreSQL does by NOTIFY.
type Telling struct {
	daemon.Store
	Committed func() // called by the goroutine that has committed
}

// Commit tells of the change.
func (s *Telling) Commit(ctx context.Context, change *daemon.Change) error {
	err := s.Store.Commit(ctx, change)
	if err == nil {
		s.Committed()
	}
	return err
}

// RecordHook tells of what the hook has changed.
func (s *Telling) RecordHook(ctx context.Context, in daemon.HookInput, decide func(daemon.HookTx) daemon.HookDecision) (daemon.HookResult, error) {
	res, err := s.Store.RecordHook(ctx, in, decide)
	if err == nil {
		s.Committed()
	}
	return res, err
}

// MarkAlerted tells of the event that says that somebody was told.
func (s *Telling) MarkAlerted(ctx context.Context, ids []int64, told *daemon.Event) error {
	err := s.Store.MarkAlerted(ctx, ids, told)
	if err == nil {
		s.Committed()
	}
	return err
}
