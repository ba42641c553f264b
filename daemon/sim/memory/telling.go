package memory

import (
	"context"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
)

// Telling is a store that calls Committed after each change that is committed through it, as PostgreSQL sends a
// NOTIFY.
type Telling struct {
	daemon.Store
	Committed func() // called in the goroutine that committed
}

// Commit commits a change and calls Committed.
func (s *Telling) Commit(ctx context.Context, change *daemon.Change) error {
	err := s.Store.Commit(ctx, change)
	if err == nil {
		s.Committed()
	}
	return err
}

// RecordHook records a hook and calls Committed.
func (s *Telling) RecordHook(ctx context.Context, in daemon.HookInput, decide func(daemon.HookTx) daemon.HookDecision) (daemon.HookResult, error) {
	res, err := s.Store.RecordHook(ctx, in, decide)
	if err == nil {
		s.Committed()
	}
	return res, err
}

// MarkAlerted marks events and calls Committed.
func (s *Telling) MarkAlerted(ctx context.Context, ids []int64, told *event.Event, pushes ...tell.Push) error {
	err := s.Store.MarkAlerted(ctx, ids, told, pushes...)
	if err == nil {
		s.Committed()
	}
	return err
}
