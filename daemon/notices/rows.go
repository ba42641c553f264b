package notices

import (
	"context"
	"errors"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
)

// rowsToTell is the teller's view of the store.
type rowsToTell struct{ Store }

// MarkAlerted marks events, and stores the event told, which says that the operator was told; nil: the operator need not be
// told. It also stores the pushes. If another daemon marked one of the events first, MarkAlerted writes nothing, and that is no error.
func (r rowsToTell) MarkAlerted(ctx context.Context, ids []int64, told *event.Event, pushes ...tell.Push) error {
	if err := r.Store.MarkAlerted(ctx, ids, told, pushes...); !errors.Is(err, daemon.ErrMoved) {
		return err
	}
	return nil
}

// Over reports whether the agent or the pipeline of a notice no longer waits for a person, or has been seen. For a pipeline it
// asks the pipeline's row, because the event's agent may belong to an earlier attempt at the step.
func (r rowsToTell) Over(ctx context.Context, e *event.Event) (bool, error) {
	waits, err := true, error(nil)
	switch {
	case e.PipelineID != nil:
		var p daemon.Pipeline
		p, err = r.Pipeline(ctx, *e.PipelineID)
		waits = p.Status == daemon.PipelineWaiting
	case e.AgentID != nil:
		var a daemon.Agent
		a, err = r.Agent(ctx, *e.AgentID)
		waits = a.State == daemon.Waiting
		switch e.Type {
		case event.AgentFinished:
			waits = a.Unread && a.Active()
		case event.AgentTrouble:
			waits = a.Trouble != nil
		case event.AgentLimitDecided:
			waits = a.State == daemon.Limited
		}
	}
	if errors.Is(err, daemon.ErrNotFound) {
		return true, nil
	}
	return err == nil && !waits, err
}
